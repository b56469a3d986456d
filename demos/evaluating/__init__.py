"""What `python -m demos evaluate` reads and prints."""
