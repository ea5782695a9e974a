"""Join the sources into Snapshots, decide, publish.

One thread owns everything mutable in here. Sources hand records over through a queue; readers get
Snapshots that never change. This package does no I/O of its own but for polling the policy file.
"""
