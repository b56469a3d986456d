"""Studies of a model's forward and backward pass, each in its own file; they run in float64."""
