import math
from dataclasses import replace

import pytest

from scaler.core.idle.join import DeviceUse, join
from scaler.core.model import Name
from scaler.core.policy import PrometheusSettings
from scaler.core.profile import metric_profile
from scaler.core.usage import Device, DeviceReading, Reading
from tests.builders import NOW
from tests.core.idle_fixture import join_readings, worker

PROFILE = metric_profile(PrometheusSettings())
GPU = Device(uuid="GPU-0")
OWN = Reading(device=GPU, pod=("ml", "w-0"), signal="gpu_util", peak=3.0, latest=NOW)


def joined(
    *readings: Reading,
    live: tuple[str, ...] = ("w-0",),
    devices: dict[Device, DeviceReading] | None = None,
) -> tuple[DeviceUse, ...]:
    """Join readings for pod `w-0`."""

    def alive(pod: Name) -> bool:
        return pod[1] in live

    usage = join_readings(*readings, devices=devices)
    return join(pods=[worker()], usage=usage, profile=PROFILE, live=alive)


def test_a_pod_without_series_has_no_device() -> None:
    """A pod without series has no device."""
    assert joined(replace(OWN, pod=None), replace(OWN, pod=("ml", "w-1"))) == ()


def test_a_device_has_the_loudest_of_all_series_that_count() -> None:
    """A device has the loudest of all series that count."""
    (use,) = joined(
        OWN,
        replace(OWN, pod=None, peak=7.0),
        replace(OWN, signal="gr_engine_active", peak=5.0),
    )
    assert use.loudest is not None
    assert (use.peak, use.loudest.name, use.pods) == (7.0, "gpu_util", ("w-0",))


def test_series_of_other_live_pods_count_and_those_of_pods_that_are_gone_do_not() -> None:
    """Series of other live pods count and those of pods that are gone do not."""
    other = replace(OWN, pod=("ml", "w-1"), peak=90.0, latest=NOW + 5)
    assert joined(OWN, other, live=("w-0", "w-1"))[0].peak == 90.0
    (use,) = joined(OWN, other)
    assert (use.peak, use.latest) == (3.0, NOW)


def test_void_signals_of_a_slice_are_left_out() -> None:
    """Void signals of a slice are left out."""
    part = replace(OWN, device=Device(uuid="GPU-0", instance="2"), peak=80.0)
    (use,) = joined(part)
    assert (use.whole, use.signals, use.peak) == (False, (), None)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_no_sample(value: float) -> None:
    """What is no number is no sample."""
    (use,) = joined(replace(OWN, peak=value))
    assert use.peak is None


def test_the_newest_busy_time_is_that_of_any_series_that_counts() -> None:
    """The newest busy time is that of any series that counts."""
    (use,) = joined(
        replace(OWN, last_busy=NOW - 50),
        replace(OWN, signal="dram_active", last_busy=NOW - 20),
        replace(OWN, pod=("ml", "gone"), last_busy=NOW),
    )
    assert use.last_busy == NOW - 20


def test_samples_are_the_devices_unless_one_of_its_series_is_of_a_pod_that_is_gone() -> None:
    """Samples are the devices unless one of its series is of a pod that is gone."""
    own = replace(OWN, samples=2)
    assert joined(own)[0].samples == 60
    ghost = replace(OWN, pod=("ml", "gone"), samples=58)
    assert joined(own, ghost)[0].samples == 2
    assert joined(OWN, ghost)[0].samples == 60


def test_sensors_and_model_come_from_the_device() -> None:
    """Sensors and model come from the device."""
    seen = DeviceReading(device=GPU, model="T4", peak_watts=31.0, moved=True)
    (use,) = joined(OWN, devices={GPU: seen})
    assert (use.model, use.watts, use.moved, use.samples) == ("T4", 31.0, True, 0)


def test_an_unheard_of_signal_shows_work_but_vouches_for_nothing() -> None:
    """An unheard of signal shows work but vouches for nothing."""
    (use,) = joined(replace(OWN, signal="tensor_active"))
    assert use.peak == 3.0
    assert not use.signals[0].vouches


def test_devices_come_in_their_own_order() -> None:
    """Devices come in their own order."""
    second = replace(OWN, device=Device(uuid="GPU-1"))
    assert joined(OWN, second) == joined(second, OWN)
