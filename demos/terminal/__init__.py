"""How the commands show things on a terminal, and in plain text where there is none."""
