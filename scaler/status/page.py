"""The page for people at /."""

PAGE = b"""<!doctype html><title>kueue-gpu-scaler</title><p><a href=/decisions>decisions</a>"""
