"""One leader at a time, whatever clocks, outages and slow requests do."""

import re
import threading
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from scaler.actuator.lease import Elector, LeaseTimes, identity, micro_time
from scaler.kube.api import ApiError
from tests.actuator.leases import LeaseApi
from tests.builders import NOW

TIMES = LeaseTimes()


@dataclass(slots=True)
class Race:
    """Contenders for one Lease; their clocks disagree, seconds pass alike for all of them."""

    api: LeaseApi = field(default_factory=LeaseApi)
    passed: float = 0.0

    def contender(self, name: str, *, clock_ahead: float = 0.0) -> Elector:
        """Add one."""
        return Elector(
            self.api,
            namespace="scaling",
            name="actuator",
            identity=name,
            clock=lambda: NOW + self.passed + clock_ahead,
            elapsed=lambda: self.passed,
        )


def leads(one: Elector) -> bool:
    """Ask once more: it may have become another answer."""
    return one.leading


def test_the_first_one_leads_and_writes_who_it_is() -> None:
    """As every other Kubernetes controller's Lease reads."""
    race = Race()
    first = race.contender("first")
    assert not leads(first)
    first.turn()
    assert leads(first)
    assert race.api.spec == {
        "holderIdentity": "first",
        "leaseDurationSeconds": 15,
        "acquireTime": micro_time(NOW),
        "renewTime": micro_time(NOW),
        "leaseTransitions": 1,
    }


def test_the_second_one_waits_while_the_first_renews() -> None:
    """However long that goes on."""
    race = Race()
    first, second = race.contender("first"), race.contender("second")
    for _ in range(40):
        first.turn()
        second.turn()
        race.passed += TIMES.pace
    assert leads(first)
    assert not leads(second)
    assert race.api.spec["leaseTransitions"] == 1


def test_clocks_that_disagree_by_an_hour_change_nothing() -> None:
    """The times in the record are never compared with one's own."""
    race = Race()
    late, early = race.contender("late", clock_ahead=-3600), race.contender("early")
    for _ in range(20):
        late.turn()
        early.turn()
        assert leads(late)
        assert not leads(early)
        race.passed += TIMES.pace


def test_a_holder_that_died_is_outlived_by_its_lease() -> None:
    """Counted from when its record was first seen, not from when it was written."""
    race = Race()
    race.contender("dead").turn()
    heir = race.contender("heir")
    race.passed += 1000
    heir.turn()
    assert not leads(heir)
    race.passed += TIMES.duration - 0.1
    heir.turn()
    assert not leads(heir)
    race.passed += 0.1
    heir.turn()
    assert leads(heir)
    assert race.api.spec["leaseTransitions"] == 2


def test_a_longer_lease_that_the_holder_wrote_is_waited_for() -> None:
    """A newer release may lead for longer than ours would."""
    race = Race()
    race.contender("dead").turn()
    race.api.spec["leaseDurationSeconds"] = 60
    heir = race.contender("heir")
    heir.turn()
    race.passed += TIMES.duration + 1
    heir.turn()
    assert not leads(heir)
    race.passed += 60
    heir.turn()
    assert leads(heir)


def test_a_leader_without_an_api_server_is_none_before_another_can_be_one() -> None:
    """It stops by itself: nobody could tell it."""
    race = Race()
    leader = race.contender("leader")
    leader.turn()
    with race.api.outage():
        race.passed += TIMES.deadline - 0.1
        leader.turn()
        assert leads(leader)
        race.passed += 0.1
        assert not leads(leader)
    leader.turn()
    assert leads(leader)


def test_a_leader_is_none_once_its_renewal_hangs_for_too_long() -> None:
    """And the renewal that comes in at last counts from when it was sent."""
    race = Race()
    leader = race.contender("leader")
    leader.turn()
    led: list[bool] = []

    def slow() -> None:
        race.passed += TIMES.deadline
        led.append(leads(leader))

    race.api.meanwhile = slow
    leader.turn()
    assert led == [False]
    assert not leads(leader)


def test_of_two_that_take_a_free_lease_at_once_one_gets_it() -> None:
    """The other one's write is refused for its resourceVersion."""
    race = Race()
    first, second = race.contender("first"), race.contender("second")
    race.api.meanwhile = second.turn
    first.turn()
    assert (leads(first), leads(second)) == (False, True)
    first.turn()
    assert (leads(first), leads(second)) == (False, True)


def test_of_two_heirs_one_gets_the_lease() -> None:
    """A patch on a resourceVersion that is no more is a conflict, not a failure."""
    race = Race()
    race.contender("dead").turn()
    first, second = race.contender("first"), race.contender("second")
    first.turn()
    second.turn()
    race.passed += TIMES.duration
    race.api.meanwhile = second.turn
    first.turn()
    assert (leads(first), leads(second)) == (False, True)


def test_the_lease_is_given_back_at_the_end() -> None:
    """So that a rollout waits for nobody."""
    race = Race()
    first, second = race.contender("first"), race.contender("second")
    first.turn()
    second.turn()
    first.release()
    assert not leads(first)
    second.turn()
    assert leads(second)


def test_one_that_does_not_lead_gives_nothing_back() -> None:
    """Else a follower's end would take the leader's Lease away."""
    race = Race()
    first, second = race.contender("first"), race.contender("second")
    first.turn()
    second.turn()
    second.release()
    assert race.api.spec["holderIdentity"] == "first"
    assert race.api.writes == 1


def test_a_lease_that_cannot_be_given_back_ends_all_the_same() -> None:
    """It runs out by itself."""
    race = Race()
    first = race.contender("first")
    first.turn()
    with race.api.outage():
        first.release()
    assert not leads(first)


def test_a_write_whose_answer_is_lost_makes_no_leader_but_no_harm_either() -> None:
    """What came of it is read at the next turn."""
    race = Race()
    first = race.contender("first")
    race.api.swallows = True
    first.turn()
    assert not leads(first)
    race.api.swallows = False
    first.turn()
    assert leads(first)


def test_a_refused_or_senseless_answer_is_no_leadership() -> None:
    """403 without RBAC: the process goes on and asks again."""
    race = Race()
    first = race.contender("first")

    def refuse() -> None:
        raise ApiError(403, "leases is forbidden")

    race.api.meanwhile = refuse
    first.turn()
    assert not leads(first)
    race.api.lease = {"metadata": [], "spec": 5}
    first.turn()
    assert not leads(first)


def test_one_that_was_robbed_leads_no_more() -> None:
    """Somebody edited the Lease by hand."""
    race = Race()
    first = race.contender("first")
    first.turn()
    race.api.spec["holderIdentity"] = "hand"
    first.turn()
    assert not leads(first)


def test_a_restarted_container_of_the_same_pod_leads_at_once() -> None:
    """Its identity is the pod's, and the process before it is dead."""
    race = Race()
    name = identity(("scaling", "actuate-0", "uid-1"))
    race.contender(name).turn()
    again = race.contender(name)
    again.turn()
    assert leads(again)


def test_two_processes_of_one_host_never_have_one_identity() -> None:
    """In host networking two containers can share host name and pid."""
    assert identity(None) != identity(None)


def test_times_are_written_as_micro_time() -> None:
    """The API server refuses any other number of digits."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", micro_time(NOW))


def test_the_thread_leads_and_gives_back() -> None:
    """Start to stop."""
    api = LeaseApi()
    asked = threading.Event()
    elector = Elector(
        api,
        namespace="scaling",
        name="actuator",
        identity="first",
        clock=lambda: NOW,
        times=LeaseTimes(pace=60),
    )
    api.meanwhile = asked.set
    elector.start()
    assert asked.wait(10)
    elector.stop()
    assert api.spec["holderIdentity"] == ""
    assert not leads(elector)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["turn", "turn", "turn", "hang", "release", "lost"]),
            st.floats(0.0, 12.0),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_law_never_two_leaders(moves: list[tuple[int, str, float, bool]]) -> None:
    """Turns in any order, at any pace, with outages, lost answers and requests that hang."""
    race = Race()
    contenders = [race.contender(name, clock_ahead=n * 999.0) for n, name in enumerate("abc")]

    def leaders() -> int:
        return sum(one.leading for one in contenders)

    for who, move, pause, down in moves:
        race.api.down = down
        race.api.swallows = move == "lost"
        if move == "hang":

            def others(who: int = who, pause: float = pause) -> None:
                race.passed += pause
                contenders[who - 1].turn()
                assert leaders() <= 1

            race.api.meanwhile = others
        if move == "release":
            contenders[who].release()
        else:
            contenders[who].turn()
        race.api.meanwhile = None
        assert leaders() <= 1
        race.passed += pause
        assert leaders() <= 1
