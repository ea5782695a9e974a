"""One clock times the whole cluster, and ends every wait when it is stopped."""

import threading

from scaler.sim.clock import Clock, FastClock, ManualClock


def test_fast_clock() -> None:
    """A fast clock starts where it is told, and never goes back."""
    clock = FastClock(speed=1000, start=5000.0)
    first = clock.now()
    assert clock.sleep_until(first + 10)
    assert clock.now() >= first + 10 >= 5010


def test_past_instant() -> None:
    """An instant that is over is not waited for."""
    for clock in (FastClock(speed=1), ManualClock()):
        assert clock.sleep_until(clock.now() - 1)


def test_manual_clock() -> None:
    """A manual clock wakes a thread when it has been moved far enough, not before."""
    clock = ManualClock(start=100.0)
    woke = threading.Event()

    def wait() -> None:
        if clock.sleep_until(110.0):
            woke.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    clock.advance(9)
    assert not woke.wait(0.05)
    clock.advance(1)
    assert woke.wait(10)
    thread.join(10)


def test_stop() -> None:
    """A stopped clock ends waits under way and all later ones."""
    clocks: tuple[Clock, ...] = (FastClock(speed=0.001), ManualClock())
    for clock in clocks:
        answers: list[bool] = []

        def wait(clock: Clock = clock, answers: list[bool] = answers) -> None:
            answers.append(clock.sleep_until(clock.now() + 1000))

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        clock.stop()
        thread.join(10)
        assert answers == [False]
        assert not clock.sleep_until(clock.now() + 1000)
