"""Try the service against what it works with for real: KEDA's client, Prometheus, Kueue's objects.

Usage: python -m tests.peers.run

Go peers are built into .build/ at the first run. What is missing on this machine is skipped and
said; in CI (CI=true) that fails.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs import longer
from tests.e2e.builds import PROMETHEUS
from tests.e2e.waiting import NeverCameError
from tests.ending import end_in_order, run_in_order
from tests.golang import BUILT, ROOT, CannotBuildError, build
from tests.peers import (
    alerts,
    installers,
    keda_scenario,
    kueue_samples,
    page_history,
    page_scenario,
    wheel,
)
from tests.peers.browser import NoBrowserError
from tests.peers.builds import KEDA
from tests.report import Report

SAMPLES = ROOT.parent / "shared" / "data" / "kueue-samples"
COMPARE = Path(__file__).parent / "prometheus" / "compare.py"


def main() -> int:
    """Try every part; give the exit code."""
    end_in_order()
    report = Report(title="peers")
    _kueue(report)
    report.part("longer commands of the documents")
    longer.run(report)
    _installers(report)
    report.part("the wheel")
    wheel.run(report)
    _keda(report)
    _prometheus(report)
    _alerts(report)
    _debian_prometheus(report)
    _page(report)
    return report.exit_code()


def _kueue(report: Report) -> None:
    report.part("objects of a real Kueue")
    if not SAMPLES.is_dir():
        report.skip("Kueue's objects", why=f"{SAMPLES} is not there")
        return
    kueue_samples.run(report, folder=SAMPLES)


def _installers(report: Report) -> None:
    report.part("kustomize and Helm")
    try:
        build(installers.INSTALLERS)
    except CannotBuildError as error:
        report.skip("the installers", why=str(error))
        return
    installers.run(report)


def _keda(report: Report) -> None:
    report.part("KEDA's own scaler client")
    try:
        build(KEDA)
    except CannotBuildError as error:
        report.skip("KEDA's client", why=str(error))
        return
    try:
        keda_scenario.run(report, program=KEDA.program("keda"))
    except (RuntimeError, TimeoutError) as error:
        report.check("the scenario is played to its end", ok=False, found=error)


def _prometheus(report: Report) -> None:
    report.part("Prometheus, newest")
    try:
        build(PROMETHEUS)
    except CannotBuildError as error:
        report.skip("the newest Prometheus", why=str(error))
        return
    _compare(report, *(PROMETHEUS.program(name) for name in PROMETHEUS.programs))
    try:
        page_history.run(report, prometheus=PROMETHEUS.program("prometheus"))
    except NeverCameError as error:
        report.check("a restarted service gets its history back", ok=False, found=error)


def _alerts(report: Report) -> None:
    report.part("alerts and recording rules")
    try:
        build(PROMETHEUS)
    except CannotBuildError as error:
        report.skip("alerts", why=str(error))
        return
    alerts.run(report, promtool=PROMETHEUS.program("promtool"))


def _debian_prometheus(report: Report) -> None:
    report.part("Prometheus of the distribution")
    installed, unpacked = Path("/usr/bin"), BUILT / "peers" / "debian" / "usr" / "bin"
    try:
        if not any((folder / "prometheus").exists() for folder in (installed, unpacked)):
            _unpack(BUILT / "peers" / "debian")
    except CannotBuildError as error:
        report.skip("the distribution's Prometheus", why=str(error))
        return
    folder = installed if (installed / "prometheus").exists() else unpacked
    _compare(report, folder / "prometheus", folder / "promtool")


def _page(report: Report) -> None:
    report.part("the page in Chromium")
    try:
        page_scenario.run(report)
    except NoBrowserError as error:
        report.skip("the page in a browser", why=str(error))


def _unpack(into: Path) -> None:
    """Fetch the distribution's package and take its files out, so that no service is set up.

    Raises:
        CannotBuildError: there is no such package to be had.
    """
    if shutil.which("apt-get") is None:
        message = "/usr/bin/prometheus is not there, nor is apt-get"
        raise CannotBuildError(message)
    with tempfile.TemporaryDirectory() as folder:
        said = _apt_get("download", "prometheus", folder=folder)
        if not any(Path(folder).iterdir()):  # a new machine has no package lists yet
            _apt_get("update", folder=folder)
            said = _apt_get("download", "prometheus", folder=folder)
        packages = list(Path(folder).glob("prometheus_*.deb"))
        if not packages:
            message = f"apt-get download prometheus failed: {said.strip()[-300:]}"
            raise CannotBuildError(message)
        into.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "-x", str(packages[0]), str(into)], check=True)


def _apt_get(*words: str, folder: str) -> str:
    """Run apt-get in a folder; give what it said of errors."""
    command = ["apt-get", "-q", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stderr


def _compare(report: Report, prometheus: Path, promtool: Path) -> None:
    """Hold the embedded Prometheus against a real one; the comparison prints its own lines."""
    command = [sys.executable, str(COMPARE), f"--prometheus={prometheus}", f"--promtool={promtool}"]
    code = run_in_order(command, folder=ROOT)
    report.check("the embedded Prometheus answers as the real one", ok=code == 0, found=code)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
