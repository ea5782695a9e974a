"""Measure the service, each figure beside its goal: `make bench`."""
