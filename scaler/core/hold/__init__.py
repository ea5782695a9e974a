"""Plan what becomes of a WorkerScale's workers: taken, given back, or left alone, and why.

Reads a Snapshot and Decisions, gives back steps; applies nothing. Every step is safe to be the
last one that was done: the next plan starts from what is there then.
"""
