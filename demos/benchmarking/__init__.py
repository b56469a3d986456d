"""What `python -m demos benchmark` is made of: who competes, the cores they run on, what was measured."""
