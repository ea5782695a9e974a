"""Decide, on values alone.

This package imports the standard library only: no clock, no logging, no I/O, no threads.
Time is an argument, in seconds since the epoch. Records are frozen; functions give records back.
"""
