"""Each reason has a colour, and what is unknown has none of those that mean something."""

import pytest

from scaler.core.decision import Status
from scaler.core.reasons import Reason
from scaler.status.page.tone import _TONES, Tone, tone_of

UNKNOWN_REASONS = list(Reason)[list(Reason).index(Reason.NOT_SYNCED) :]


def test_every_reason_with_a_value_has_a_tone() -> None:
    """Every reason with a value has a tone."""
    assert set(_TONES) == set(Reason) - set(UNKNOWN_REASONS)


@pytest.mark.parametrize("reason", UNKNOWN_REASONS)
def test_a_hold_is_unknown_whatever_its_reason(reason: Reason) -> None:
    """A hold is unknown whatever its reason."""
    assert tone_of(Status.HOLD, reason) is Tone.UNKNOWN


def test_malformed_metadata_are_no_missing_data() -> None:
    """Malformed metadata are no missing data."""
    assert tone_of(Status.INVALID, Reason.BAD_METADATA) is Tone.INVALID


def test_a_reason_of_another_version_is_calm() -> None:
    """A reason of another version is calm."""
    assert tone_of(Status.OK, "SomethingNew") is Tone.CALM
