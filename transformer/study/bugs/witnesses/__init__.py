"""Witnesses: what may catch a bug. Each looks at the model as it is while the bug stands planted."""
