"""`python -m demos COMMAND`: one file a command, found by its name. `python -m demos` lists them."""
