"""Placeholder: the embedded cluster."""
