"""Decide an idle signal: from readings to BUSY, IDLE or UNKNOWN, with its reason.

What lacks data is UNKNOWN here, whatever the rest says.
"""
