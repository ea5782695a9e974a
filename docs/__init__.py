"""The documents; `docs.generate` writes those of docs/reference."""
