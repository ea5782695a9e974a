"""Speak gRPC with KEDA.

The only package that imports grpc. No call in here waits for anything but the event loop: an answer
is a look into the store, so that a hung source hangs no poll.
"""
