"""Generate scaler/pb from the proto file, or check that it is what the proto file gives."""

import argparse
import filecmp
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO = "scaler/pb/externalscaler.proto"
"""Where protoc sees protos/externalscaler.proto, so that generated imports are absolute."""
OUTPUTS = (
    "externalscaler_pb2.py",
    "externalscaler_pb2.pyi",
    "externalscaler_pb2_grpc.py",
    "externalscaler_pb2_grpc.pyi",
)


def generate(into: Path) -> None:
    """Write the generated modules to `into`/scaler/pb.

    Raises:
        CalledProcessError: protoc does not accept the proto file; it has said why.
    """
    plugin = shutil.which("protoc-gen-mypy_grpc", path=str(Path(sys.executable).parent))
    command = [
        *(sys.executable, "-m", "grpc_tools.protoc"),
        f"-Iscaler/pb={ROOT / 'protos'}",
        f"--plugin=protoc-gen-mypy_grpc={plugin}",
        *(f"--{kind}_out={into}" for kind in ("python", "pyi", "grpc_python")),
        f"--mypy_grpc_out=quiet:{into}",
        PROTO,
    ]
    subprocess.run(command, check=True, cwd=ROOT)  # noqa: S603 - every part is ours


def stale() -> list[str]:
    """Name the committed modules that differ from a fresh generation."""
    with tempfile.TemporaryDirectory() as fresh:
        generate(Path(fresh))
        committed = ROOT / "scaler" / "pb"
        _, differing, absent = filecmp.cmpfiles(
            Path(fresh) / "scaler" / "pb", committed, OUTPUTS, shallow=False
        )
    return sorted(differing + absent)


def main() -> int:
    """Run the command; 1 when --check found stale modules."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    if not parser.parse_args().check:
        generate(ROOT)
        return 0
    if names := stale():
        sys.stderr.write(f"scaler/pb is stale, run `make proto`: {', '.join(names)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
