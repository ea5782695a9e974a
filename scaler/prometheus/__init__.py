"""Ask Prometheus what the GPUs do, and decode it into readings.

The only package that imports requests and prometheus_api_client. Every failure becomes a problem
that is told beside the readings; nothing in here decides what it means.
"""
