"""KEDA's own client, as a Go program of ours."""

from pathlib import Path

from tests.golang import GoModule

KEDA = GoModule(
    name="keda",
    source=Path(__file__).parent / "keda",
    package=".",
    programs=("keda",),
    first_build="about 20 minutes on two cores",
)
