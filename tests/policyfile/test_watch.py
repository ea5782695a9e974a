"""The file is polled, a bad one is refused whole, and the last good policy stays."""

from pathlib import Path

import pytest

from scaler.core.policy import Policy
from scaler.policyfile import PolicyError, PolicyFile, PolicyState


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Give the time."""
        return self.now


def mount(folder: Path, text: str, version: str) -> Path:
    """Write a ConfigMap's mount as the kubelet does: a new folder, and ..data swapped to it."""
    target = folder / f"..{version}"
    target.mkdir()
    (target / "policy.yaml").write_text(text)
    swap = folder / "..data_tmp"
    swap.symlink_to(target.name)
    swap.replace(folder / "..data")
    path = folder / "policy.yaml"
    if not path.is_symlink():
        path.symlink_to("..data/policy.yaml")
    return path


def polled(file: PolicyFile) -> PolicyState:
    """Poll and expect news."""
    state = file.poll()
    assert state is not None
    return state


def idle_after(state: PolicyState) -> float | None:
    """Give the defaults' idleAfter of the policy in force."""
    return state.policy.defaults.idle_after


def test_swapped_configmap(tmp_path: Path) -> None:
    """A swap of ..data is seen at the next poll; without a change there is no news."""
    clock = Clock()
    path = mount(tmp_path, "defaults: {idleAfter: 45m}", "1")
    file = PolicyFile(path, clock=clock)
    first = polled(file)
    assert (idle_after(first), first.hot, first.warning) == (2700.0, True, None)
    assert (first.loaded_at, first.path, first.problems) == (100.0, path, ())
    assert file.poll() is None
    clock.now = 200.0
    mount(tmp_path, "defaults: {idleAfter: 10m}", "2")
    second = polled(file)
    assert (idle_after(second), second.loaded_at) == (600.0, 200.0)


def test_bad_reloads(tmp_path: Path) -> None:
    """A10: 45m stays through broken YAML, bad values and an empty file; then 10m is taken."""
    path = tmp_path / "policy.yaml"
    path.write_text("defaults: {idleAfter: 45m}")
    clock = Clock()
    file = PolicyFile(path, clock=clock)
    polled(file)
    clock.now = 500.0
    for text in (
        "defaults: {idleAfter: [",
        'defaults: {idleAfter: "abc"}',
        'defaults: {idleAfter: "-5m"}',
        "",
    ):
        path.write_text(text)
        state = polled(file)
        assert idle_after(state) == 2700.0
        assert state.problems
        assert state.loaded_at == 100.0
        assert file.poll() is None
    path.write_text("defaults: {idleAfter: 10m}")
    state = polled(file)
    assert (idle_after(state), state.problems, state.loaded_at) == (600.0, (), 500.0)


def test_back_to_the_same_content(tmp_path: Path) -> None:
    """After a bad content the old one is news again: its problems are gone."""
    path = tmp_path / "policy.yaml"
    path.write_text("{}")
    file = PolicyFile(path)
    polled(file)
    path.write_text("nope: 1")
    assert polled(file).problems
    path.write_text("{}")
    assert polled(file).problems == ()


@pytest.mark.parametrize("text", ["", "defaults: [", "nope: 1", None])
def test_bad_at_start(tmp_path: Path, text: str | None) -> None:
    """A10: without a good policy there is none: no silent defaults."""
    path = tmp_path / "policy.yaml"
    if text is not None:
        path.write_text(text)
    file = PolicyFile(path)
    with pytest.raises(PolicyError) as caught:
        file.poll()
    assert caught.value.problems
    assert str(caught.value)
    path.write_text("{}")
    assert polled(file).policy == Policy()


def test_file_that_vanishes(tmp_path: Path) -> None:
    """A11: 2h all along while the file is gone, and the problem names the file."""
    path = mount(tmp_path, "defaults: {idleAfter: 2h}", "1")
    file = PolicyFile(path)
    polled(file)
    hidden = path.rename(tmp_path / "elsewhere")
    state = polled(file)
    assert idle_after(state) == 7200.0
    assert [problem.path for problem in state.problems] == [str(path)]
    assert file.poll() is None
    hidden.rename(path)
    state = polled(file)
    assert (idle_after(state), state.problems) == (7200.0, ())


def test_plain_file(tmp_path: Path) -> None:
    """A09: a file without ..data is polled, and says that the kubelet will not update it."""
    path = tmp_path / "policy.yaml"
    path.write_text("{}")
    state = polled(PolicyFile(path))
    assert not state.hot
    assert state.warning is not None
    assert "subPath" in state.warning
    assert PolicyState(policy=Policy()).warning is None


def test_unreadable_content(tmp_path: Path) -> None:
    """Bytes that are no text, and a folder, are problems like any other; a BOM is none."""
    path = tmp_path / "policy.yaml"
    path.write_bytes(b"\xef\xbb\xbf{}")
    file = PolicyFile(path)
    polled(file)
    path.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in str(polled(file).problems[0])
    path.unlink()
    path.mkdir()
    assert "can't be read" in str(polled(file).problems[0])
