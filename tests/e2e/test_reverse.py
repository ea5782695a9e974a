"""An actuator's gate shows it its own work, and keeps what it writes."""

from pathlib import Path

import pytest
import requests

from tests.e2e.actuation import Gate, counted, narrowed
from tests.e2e.reverse import Reverse, Write
from tests.e2e.test_older import echoing

SCALES = "/apis/kueue-gpu-scaler.dev/v1alpha1/workerscales"
PODS = "/api/v1/namespaces/a/pods/one"


@pytest.mark.parametrize(
    ("label", "selector"), [("", "%21e2e%2Factuator"), ("h8", "e2e%2Factuator%3Dh8")]
)
def test_worker_scales_are_chosen_by_a_label(label: str, selector: str) -> None:
    """In lists and watches, beside whatever else is asked."""
    assert narrowed(SCALES, label) == f"{SCALES}?labelSelector={selector}"
    assert (
        narrowed(f"{SCALES}?watch=true", label) == f"{SCALES}?labelSelector={selector}&watch=true"
    )


@pytest.mark.parametrize("target", ["/api/v1/pods?watch=true", f"{SCALES}/one", "/apis"])
def test_all_else_is_asked_as_it_is(target: str) -> None:
    """Single objects too."""
    assert narrowed(target, "") == target


def test_leases_and_events_are_no_work() -> None:
    """They are written all the time."""
    assert counted("/apis/ray.io/v1/namespaces/a/rayclusters/b")
    assert not counted("/apis/coordination.k8s.io/v1/namespaces/a/leases/b")
    assert not counted("/api/v1/namespaces/a/events")
    assert not counted("/api/v1/namespaces/a/events/b")


def test_a_write_is_kept_and_told_before_it_is_answered(tmp_path: Path) -> None:
    """Whoever hears of it may end the writer."""
    heard: list[Write] = []
    with echoing(tmp_path / "certs") as (url, authority):
        gate = Gate(url, authority=authority)
        gate.heard = heard.append
        gate.start()
        answer = requests.patch(f"{gate.url}{PODS}", data=b"{}", timeout=10)
        requests.get(f"{gate.url}{PODS}", timeout=10)
        gate.stop()
    assert answer.text.startswith(f"PATCH {PODS}")
    expected = Write(method="PATCH", path=PODS, body=b"{}", status=201)
    assert heard == gate.writes("/namespaces/a/", "/pods/") == [expected]
    assert gate.writes("/namespaces/b/") == []


def test_a_proxy_without_rules_changes_nothing(tmp_path: Path) -> None:
    """Neither what is asked nor what is answered."""
    with echoing(tmp_path / "certs") as (url, authority):
        plain = Reverse(url, authority=authority)
        plain.start()
        asked = {"Authorization": "Bearer t"}
        answer = requests.get(f"{plain.url}{SCALES}?a=b", headers=asked, timeout=10)
        plain.stop()
    assert (answer.status_code, answer.text) == (201, f"GET {SCALES}?a=b Bearer t ")
