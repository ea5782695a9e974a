"""The Grafana dashboards of deploy/grafana, as code: `python -m dashboards` writes them."""
