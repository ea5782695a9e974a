"""Files are polled; bad ones are refused whole, and the last good ones stay in use."""

import errno
import os
from pathlib import Path

import pytest

from scaler.certificates import Certificates, CertificatesError, CertificateState, Port
from tests.issuer import DAY, Issuer, Mounted, now

AUTHORITY = Issuer(name="authority")
OTHER = Issuer(name="other")
FIRST, SECOND = AUTHORITY.issue("first"), AUTHORITY.issue("second")


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = now()

    def __call__(self) -> float:
        """Give the time."""
        return self.now


def polled(certificates: Certificates) -> CertificateState:
    """Poll and expect news."""
    state = certificates.poll()
    assert state is not None
    assert state is certificates.state
    return state


def opened(folder: Path, clock: Clock) -> tuple[Mounted, Certificates]:
    """Mount good files and read them."""
    mounted = Mounted(folder)
    mounted.swap(FIRST, AUTHORITY)
    return mounted, Certificates(Port.GRPC, mounted.files, clock=clock)


def test_a_swapped_secret_is_in_use_at_the_next_poll(tmp_path: Path) -> None:
    """K15: certificate, key and authorities are replaced whole; without a change is no news."""
    clock = Clock()
    mounted, certificates = opened(tmp_path, clock)
    assert certificates.state.identity.serial == FIRST.serial
    assert certificates.poll() is None
    clock.now += 100
    mounted.swap(SECOND, OTHER)
    state = polled(certificates)
    assert (state.identity.serial, state.loaded_at) == (SECOND.serial, clock.now)
    assert state.identity.client_authorities == OTHER.pem
    assert certificates.poll() is None


def test_bad_files_leave_the_last_good_ones_in_use(tmp_path: Path) -> None:
    """Refused once, told in /readyz's detail, mended by the next good ones."""
    mounted, certificates = opened(tmp_path, Clock())
    loaded = certificates.state
    mounted.put({"tls.crt": SECOND.certificate, "tls.key": FIRST.key, "ca.crt": AUTHORITY.pem})
    state = polled(certificates)
    assert (state.identity, state.loaded_at) == (loaded.identity, loaded.loaded_at)
    assert [Path(each.path).name for each in state.problems] == ["tls.key"]
    (detail,) = certificates.details()
    assert detail.startswith("grpc certificates: refused, the last good ones stay in use: ")
    assert "tls.key" in detail
    assert certificates.poll() is None
    mounted.swap(SECOND, AUTHORITY)
    assert polled(certificates).problems == ()
    assert certificates.state.identity.serial == SECOND.serial
    assert list(certificates.details()) == []


def test_the_same_files_come_back_as_they_were(tmp_path: Path) -> None:
    """They were in use all the time: loaded at the same time, and refused no longer."""
    clock = Clock()
    mounted, certificates = opened(tmp_path, clock)
    before = certificates.state
    mounted.put({"tls.crt": b"", "tls.key": b"", "ca.crt": b""})
    assert len(polled(certificates).problems) == 3
    clock.now += 100
    mounted.swap(FIRST, AUTHORITY)
    state = polled(certificates)
    assert (state.problems, state.loaded_at) == ((), before.loaded_at)
    assert state.identity is before.identity


def test_expired_files_never_take_the_place_of_good_ones(tmp_path: Path) -> None:
    """They are named with the hour of their end."""
    mounted, certificates = opened(tmp_path, Clock())
    mounted.swap(AUTHORITY.issue("old", ends=now() - 60), AUTHORITY)
    assert "it expired at " in str(polled(certificates).problems)
    assert certificates.state.identity.serial == FIRST.serial


def test_files_that_came_too_early_are_taken_when_their_hour_comes(tmp_path: Path) -> None:
    """Clocks differ by minutes; nobody touches the files again for that."""
    clock = Clock()
    mounted, certificates = opened(tmp_path, clock)
    mounted.swap(AUTHORITY.issue("soon", starts=clock.now + 120), AUTHORITY)
    assert "not valid before" in str(polled(certificates).problems)
    assert certificates.poll() is None
    clock.now += 121
    assert polled(certificates).problems == ()


def test_what_expires_while_it_is_in_use_is_told(tmp_path: Path) -> None:
    """Nothing can be done but to say it: clients refuse it, or are refused."""
    clock = Clock()
    _, certificates = opened(tmp_path, clock)
    clock.now = FIRST.ends
    (detail,) = certificates.details()
    assert "the one in use expired at " in detail
    clock.now = AUTHORITY.ends + DAY
    assert "the last client authority expired at " in list(certificates.details())[1]


def test_bad_files_at_the_start_are_no_start(tmp_path: Path) -> None:
    """There is no last good one; every problem is told."""
    mounted = Mounted(tmp_path)
    mounted.put({"tls.crt": b"", "tls.key": b"", "ca.crt": b""})
    with pytest.raises(CertificatesError) as raised:
        Certificates(Port.STATUS, mounted.files, clock=Clock())
    assert len(str(raised.value).splitlines()) == 3


def test_good_files_that_could_not_be_judged_are_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What failed for a moment must not be taken for files that were seen and are in use."""
    mounted, certificates = opened(tmp_path, Clock())
    mounted.swap(SECOND, AUTHORITY)

    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("scaler.certificates.judge.judge", fails)
        with pytest.raises(MemoryError):
            certificates.poll()
    assert polled(certificates).identity.serial == SECOND.serial


def test_without_a_file_descriptor_to_spare_the_old_ones_stay_until_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said like any other problem with the files."""
    mounted, certificates = opened(tmp_path, Clock())
    mounted.swap(SECOND, AUTHORITY)

    def none() -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr("scaler.certificates.identity._unnamed", none)
        (problem,) = polled(certificates).problems
    assert problem.allowed == "it can't be loaded: Too many open files"
    assert polled(certificates).identity.serial == SECOND.serial
