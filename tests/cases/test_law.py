"""The law behind Area 3, from samples to the answer: work that was seen is never idle."""

import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.core.reasons import Reason
from tests.cases.cluster import nodes
from tests.cases.frame import Case, idle, run
from tests.cases.objects import admitted, every, pods
from tests.cases.series import Series, gpu_labels

WINDOW = 1800
SCRAPES = 90
"""Half as many again as the window has."""

LABELS: tuple[Mapping[str, str], ...] = (
    gpu_labels("a-0", 0, UUID="GPU-1"),
    gpu_labels("a-0", 0, UUID="GPU-1", Hostname=None, hostname="n1"),
    gpu_labels("a-0", 0, UUID="GPU-1", pod=""),
    gpu_labels("gone-0", 0, UUID="GPU-1"),
)
GONE = LABELS[-1]
METRICS = {"DCGM_FI_DEV_GPU_UTIL": 100.0, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 1.0}
BLANKS = (9223372036854775794.0, -1.0, math.nan)


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[Series], bool]:
    """Draw a GPU's series up to t = 0, and whether a sample of them shows work in the window.

    Scrapes go missing, labels come and go, blanks come between, work is short.
    """
    metric = draw(st.sampled_from(sorted(METRICS)))
    top, phase = METRICS[metric], draw(st.integers(0, 29))
    lost = draw(st.sets(st.integers(0, SCRAPES - 1), max_size=8))
    blank = draw(st.dictionaries(st.integers(0, SCRAPES - 1), st.sampled_from(BLANKS), max_size=3))
    work = draw(st.dictionaries(st.integers(0, SCRAPES - 1), st.floats(0.01, 1.0), max_size=2))
    turns = draw(
        st.dictionaries(st.integers(0, SCRAPES - 1), st.integers(0, len(LABELS) - 1), max_size=3)
    )
    points: list[dict[float, float]] = [{} for _ in LABELS]
    which, seen = 0, False
    for number in reversed(range(SCRAPES)):
        which = turns.get(number, which)
        t = float(-30 * number - phase)
        if number in lost:
            continue
        value = blank.get(number, work.get(number, 0.0) * top)
        points[which][t] = value
        usable = LABELS[which] is not GONE and top / 100 <= value <= top
        seen = seen or (usable and t > -WINDOW)
    series = [
        Series(metric=metric, labels=labels, points=own)
        for labels, own in zip(LABELS, points, strict=True)
    ]
    return series, seen


@settings(max_examples=60)
@given(fleets())
def test_idle_only_where_no_sample_shows_work(fleet: tuple[list[Series], bool]) -> None:
    """Never Idle with work in the window, never Busy without."""
    series, seen = fleet
    objects = every(nodes(1), admitted("a"), pods("a", 1))
    with TemporaryDirectory() as folder:
        found = run(Case(trigger=idle("a"), objects=objects, series=series), Path(folder)).explained
    assert found.reason != (Reason.IDLE if seen else Reason.BUSY), found.evidence
