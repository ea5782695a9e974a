"""Read the Kubernetes API into core records, and write Events.

May not: decide, keep state beyond one list or watch, know Prometheus or gRPC, or write anything
but Events. Raw JSON ends in `decode`: nothing behind it sees a dict of an API answer.
"""
