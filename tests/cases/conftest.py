"""Cases are explained below a test's own folder."""

from pathlib import Path

import pytest

from tests.cases.explained import Ran
from tests.cases.frame import Case, Run, run


@pytest.fixture
def explain(tmp_path: Path) -> Run:
    """Give the way to explain a case."""

    def explained(case: Case) -> Ran:
        return run(case, tmp_path)

    return explained
