"""`demo` runs the real service against the embedded cluster, from the first step to the last."""

import argparse
import io
from pathlib import Path

from scaler.commands import demo


def _arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    demo.add_parser(parser.add_subparsers())
    return parser.parse_args(["demo", *given])


def test_demo(tmp_path: Path) -> None:
    """Every step happens, and the demo ends by itself where there is no terminal."""
    out = io.StringIO()
    arguments = _arguments("--speed", "24", "--log", str(tmp_path / "serve.log"))
    assert demo.run(arguments, out) == 0
    said = out.getvalue()
    assert said.rstrip().endswith("Every step happened.")
    assert "Status page, live: http://127.0.0.1:" in said
    assert "TopologyPlacementFailed" in said
    assert "QuotaExhausted" in said
    assert "HOLD, PrometheusFailed" in said
