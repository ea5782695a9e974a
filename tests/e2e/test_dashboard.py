"""The imitated dashboard answers as KubeRay's client reads it."""

import requests

from tests.e2e.dashboard import Dashboard


def test_every_job_runs() -> None:
    """Whichever cluster's name is asked, by way of the proxy."""
    dashboard = Dashboard()
    dashboard.start()
    url = "http://head.team.svc.cluster.local:8265/api/jobs/train-x7"
    proxies = {"http": dashboard.url}
    found = requests.get(url, proxies=proxies, timeout=10).json()
    assert found == {"status": "RUNNING", "job_id": "train-x7", "submission_id": "train-x7"}
    stopped = requests.post(f"{url}/stop", data=b"{}", proxies=proxies, timeout=10)
    assert stopped.ok
    dashboard.stop()
