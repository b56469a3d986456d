"""The cheat-sheet of derivatives: an example of each row, its check, and the sheet on a terminal and as a page."""
