"""Find the pods, podsets, thresholds and queries that an idle trigger speaks of.

Judges nothing.
"""
