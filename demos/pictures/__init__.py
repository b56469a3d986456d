"""The pictures and pages that the commands draw for themselves: where things stand, and templates for how they look."""
