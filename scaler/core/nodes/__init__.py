"""Turn needs into a number of nodes: which there are, what fits on them, how many more.

Knows needs and nodes, but no triggers and no quota.
"""
