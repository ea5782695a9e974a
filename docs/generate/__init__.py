"""Writes docs/reference from the code: `python -m docs.generate`, or `--check` that it is so."""
