"""What becomes of the ports' files is followed, counted, shown and logged."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from scaler.certificates import CertificatesError, Port, Renewal
from scaler.settings import CertificateFiles
from scaler.telemetry import PREFIX, Telemetry
from tests.issuer import Issuer, Mounted, now

AUTHORITY = Issuer(name="authority")
FIRST, SECOND = AUTHORITY.issue("first"), AUTHORITY.issue("second")
PATIENCE = 20.0


def renewal(wanted: Mapping[Port, CertificateFiles | None], telemetry: Telemetry) -> Renewal:
    """Open the ports' files."""
    return Renewal(wanted, clock=now, telemetry=telemetry, every=0.01)


def samples(telemetry: Telemetry) -> dict[str, float]:
    """Give the samples about certificates, by name and the values of their labels."""
    text = generate_latest(telemetry.registry).decode()
    return {
        " ".join(
            [sample.name.removeprefix(f"{PREFIX}_certificate"), *sorted(sample.labels.values())]
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "certificate" in sample.name and not sample.name.endswith("_created")
    }


def test_metrics_say_what_is_in_use_and_whether_the_files_are_refused(tmp_path: Path) -> None:
    """An alert needs the end of what is served, not of what lies there."""
    mounted, telemetry = Mounted(tmp_path), Telemetry()
    mounted.swap(FIRST, AUTHORITY)
    both = renewal({Port.GRPC: mounted.files, Port.STATUS: mounted.open_files}, telemetry)
    before = samples(telemetry)
    assert before.pop("_loaded_timestamp_seconds grpc") > 0
    assert before.pop("_loaded_timestamp_seconds status") > 0
    assert before == {
        "_expiry_seconds grpc server": FIRST.ends,
        "_expiry_seconds client-ca grpc": AUTHORITY.ends,
        "_expiry_seconds server status": FIRST.ends,
        "_reload_ok grpc": 1.0,
        "_reload_ok status": 1.0,
        "s_refused_total grpc": 0.0,
        "s_refused_total status": 0.0,
    }
    mounted.swap(AUTHORITY.issue("late", ends=now() - 60), AUTHORITY)
    both.poll()
    after = samples(telemetry)
    assert after["_expiry_seconds grpc server"] == FIRST.ends
    assert (after["_reload_ok grpc"], after["_reload_ok status"]) == (0.0, 0.0)
    assert (after["s_refused_total grpc"], after["s_refused_total status"]) == (1.0, 1.0)
    both.poll()
    assert samples(telemetry)["s_refused_total grpc"] == 1.0


def test_a_change_is_one_line_of_log_and_nothing_else_is(tmp_path: Path) -> None:
    """Taken or refused, with the files and what is wrong; never the key."""
    mounted = Mounted(tmp_path)
    mounted.swap(FIRST, AUTHORITY)
    followed = renewal({Port.GRPC: mounted.files}, Telemetry())
    with capture_logs() as logs:
        followed.poll()
        mounted.put({"tls.crt": SECOND.certificate, "tls.key": FIRST.key, "ca.crt": AUTHORITY.pem})
        followed.poll()
        followed.poll()
        mounted.swap(SECOND, AUTHORITY)
        followed.poll()
    refused, taken = logs
    assert refused["event"] == "certificates refused, the last good ones stay in use"
    assert (refused["port"], refused["serial"], refused["log_level"]) == (
        "grpc",
        FIRST.serial,
        "error",
    )
    assert "tls.key" in str(refused["problems"])
    assert (taken["event"], taken["serial"]) == ("certificates in use", SECOND.serial)
    assert "PRIVATE" not in str(logs)


def test_the_thread_follows_until_it_is_stopped(tmp_path: Path) -> None:
    """It ends with stop, and a defect in one look does not end it."""
    mounted, telemetry = Mounted(tmp_path), Telemetry()
    mounted.swap(FIRST, AUTHORITY)
    followed = renewal({Port.STATUS: mounted.files}, telemetry)
    certificates = followed.of(Port.STATUS)
    assert certificates is not None
    looked, plain = threading.Event(), certificates.poll

    def stumble() -> None:
        certificates.poll = plain  # type: ignore[method-assign] # the next look is a good one
        looked.set()
        raise RuntimeError("a defect")

    certificates.poll = stumble  # type: ignore[method-assign] # once
    followed.start()
    assert looked.wait(PATIENCE)
    mounted.swap(SECOND, AUTHORITY)
    deadline = threading.Event()
    for _ in range(2000):
        if certificates.state.identity.serial == SECOND.serial:
            break
        deadline.wait(0.01)
    assert certificates.state.identity.serial == SECOND.serial
    followed.stop()
    mounted.swap(FIRST, AUTHORITY)
    assert "certificates" not in [thread.name for thread in threading.enumerate()]


def test_a_port_without_files_has_no_certificates_and_no_metrics() -> None:
    """Plaintext is no certificate that ends in 1970."""
    telemetry = Telemetry()
    plain = renewal({Port.GRPC: None, Port.STATUS: None}, telemetry)
    plain.start()
    assert (plain.of(Port.GRPC), plain.details(), samples(telemetry)) == (None, (), {})
    plain.stop()


def test_at_the_start_the_problems_of_all_ports_come_at_once(tmp_path: Path) -> None:
    """Each is named once, also where both ports have the same files."""
    one, two = Mounted(tmp_path / "one"), Mounted(tmp_path / "two")
    one.put({"tls.crt": b"", "tls.key": FIRST.key, "ca.crt": AUTHORITY.pem})
    two.put({"tls.crt": FIRST.certificate, "tls.key": SECOND.key, "ca.crt": AUTHORITY.pem})
    with pytest.raises(CertificatesError) as raised:
        renewal({Port.GRPC: one.files, Port.STATUS: two.files}, Telemetry())
    assert [Path(each.path).parent.name for each in raised.value.problems] == ["one", "two"]
    with pytest.raises(CertificatesError) as raised:
        renewal({Port.GRPC: one.files, Port.STATUS: one.files}, Telemetry())
    assert len(raised.value.problems) == 1
