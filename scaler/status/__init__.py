"""Show over HTTP what is decided and why: metrics, health, decisions, a page.

Reads the store and nothing else; answers while every source hangs. Text from the cluster is
escaped.
"""
