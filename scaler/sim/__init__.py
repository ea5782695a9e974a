"""A small cluster inside this process: a test double and a demo, not a product.

It has a Kubernetes API and a Prometheus on loopback HTTP, nodes that boot, a scheduler, the
simplest honest Kueue and a KEDA that behaves as KEDA 2.21 was measured to. The service runs
against it through the same doors as against a real cluster. One clock, faster than the wall's,
times everything; documents are kept in their wire form, as an API server keeps them.
"""
