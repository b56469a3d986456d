"""The training that `python -m demos warmup` does four times."""
