"""Measure the promises about speed and size; each figure is shown beside its goal, never asserted.

`python -m benchmarks` runs all of them, `python -m benchmarks NAME...` some.
"""
