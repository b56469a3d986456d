"""How a trained model writes."""
