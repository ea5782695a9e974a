"""Give account of a ClusterQueue or a Workload: what it has, what it waits for, who reads it."""
