"""Decide a queue signal: from ClusterQueues to a value, with its reason.

The top room of queue decisions: it asks `demand` what is needed and `nodes` where it fits.
"""
