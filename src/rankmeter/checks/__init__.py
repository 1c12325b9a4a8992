"""Checks on inputs: what is refused, with the row; what is worth a warning, with a count."""
