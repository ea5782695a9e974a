"""The image is made of what is locked, and runs as nobody in particular."""

import re
import tomllib
from pathlib import Path

import scaler
from tests.kustomized import DEPLOY, named, rendered
from tests.test_deploy import container, port

ROOT = Path(__file__).parent.parent
LINES = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()


def words(instruction: str) -> list[str]:
    """Give the arguments of each such instruction."""
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{instruction} ")]


def test_both_stages_have_one_exact_base() -> None:
    """A tag such as 3.13-slim would be another image next month."""
    (pinned,) = (each for each in words("ARG") if each.startswith("PYTHON_IMAGE="))
    exact = r"PYTHON_IMAGE=python:3\.\d+\.\d+-slim-[a-z]+(@sha256:[0-9a-f]{64})?"
    assert re.fullmatch(exact, pinned)
    assert words("FROM") == ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"]


def test_every_installation_is_of_what_is_locked() -> None:
    """By hash, or of our own wheel without anything from an index; no cache stays in a layer."""
    installs = [
        step
        for run in words("RUN")
        for step in run.split("&&")
        if re.search(r"pip .*\binstall", step)
    ]
    assert len(installs) == 3
    for step in installs:
        assert "--no-cache-dir" in step
        assert "--require-hashes" in step or ("--no-deps" in step and "--no-index" in step)


def test_what_is_copied_is_not_ignored() -> None:
    """And the second stage gets the environment alone."""
    kept = {
        line.removeprefix("!").rstrip("/")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    own = [each for each in words("COPY") if not each.startswith("--from")]
    copied = {source.rstrip("/") for each in own for source in each.split()[:-1]}
    assert copied == kept
    assert all((ROOT / each).exists() for each in copied)
    last = max(index for index, line in enumerate(LINES) if line.startswith("FROM "))
    assert [line for line in LINES[last:] if line.startswith(("COPY ", "RUN ", "ADD "))] == [
        "COPY --from=build /opt/scaler /opt/scaler"
    ]


def test_user_is_a_number_that_is_not_root() -> None:
    """A name could not be judged by runAsNonRoot."""
    (user,) = words("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_labels() -> None:
    """The recommended ones, with the version of the package."""
    (labels,) = words("LABEL")
    names = set(re.findall(r"org\.opencontainers\.image\.([\w.]+)=", labels))
    assert {"title", "description", "licenses", "version", "revision", "base.name"} <= names
    assert f"VERSION={scaler.__version__}" in words("ARG")


def test_it_starts_what_the_manifests_give_arguments_to() -> None:
    """The command that the package installs, checked at the port that they name."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    (entrypoint,) = words("ENTRYPOINT")
    assert [entrypoint] == [f'["{name}"]' for name in scripts if not name.startswith("kubectl-")]
    deployment = named(rendered(DEPLOY), "Deployment")
    assert "command" not in container(deployment)
    (check,) = words("HEALTHCHECK")
    assert f":{port('http', deployment)}/healthz" in check
    assert set(words("EXPOSE")[0].split()) == {
        str(each["containerPort"]) for each in container(deployment)["ports"]
    }
