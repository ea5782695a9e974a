"""Tell what the queues need: Kueue's classes, admissibility and quota, for whole Workloads.

Knows no nodes: whether a need fits anywhere is the business of `nodes`.
"""
