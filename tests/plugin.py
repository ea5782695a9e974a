"""The plugin of kubectl as an installation writes it: a script of the declared entry point."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = "kubectl-gpu_scaler"


def write_plugin(folder: Path) -> Path:
    """Write it into a folder, which belongs on the PATH; give the script."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, function = project["scripts"][SCRIPT].split(":")
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / SCRIPT
    lines = (f"#!{sys.executable}", "import sys", f"from {module} import {function}")
    script.write_text("\n".join((*lines, f"sys.exit({function}())", "")), encoding="utf-8")
    script.chmod(0o755)
    return script
