"""The page for people at /: one file, nothing from elsewhere."""

from importlib.resources import files

PAGE: bytes = files("scaler.status").joinpath("page.html").read_bytes()
