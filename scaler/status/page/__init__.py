"""The page for people: server-side HTML that reads the store, a ring of changes and Prometheus.

Text from the cluster becomes markup in one place only (`markup`), and that escapes it.
"""

from scaler.status.page.pages import Pages, Rendered

__all__ = ["Pages", "Rendered"]
