# SPDX-License-Identifier: Apache-2.0
"""Election of the primary (P4Runtime specification, section 5): every rule for MasterArbitrationUpdate.

Oracle: a model in a few lines (the highest id ever seen wins, if its controller is there) under random orders.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.arbitration import MAX_ROLE_NAME, Arbitration, Controller


class Client:
    def __init__(self, arbitration):
        self.arbitration = arbitration
        self.heard = []
        self.ended = []
        self.controller = Controller(self.heard.append, self.ended.append)

    def ask(self, number, role=""):
        update = v1.MasterArbitrationUpdate()
        if number is not None:
            update.election_id.high, update.election_id.low = number >> 64, number & (2**64 - 1)
        update.role.name = role
        self.arbitration.update(self.controller, update)

    def leave(self):
        self.arbitration.leave(self.controller)

    def last(self):
        update = self.heard[-1].arbitration
        return Code(update.status.code), update.election_id.high << 64 | update.election_id.low


@pytest.fixture
def clients():
    arbitration = Arbitration(3)
    return [Client(arbitration) for _ in range(3)]


def test_first_becomes_primary(clients):
    clients[0].ask(5)
    assert clients[0].last() == (Code.OK, 5)
    assert clients[0].heard[0].arbitration.device_id == 3


def test_higher_takes_over_and_all_hear_it(clients):
    a, b, c = clients
    a.ask(5)
    b.ask(7)
    assert (a.last(), b.last()) == ((Code.ALREADY_EXISTS, 7), (Code.OK, 7))
    c.ask(6)
    assert c.last() == (Code.ALREADY_EXISTS, 7)
    assert (len(a.heard), len(b.heard)) == (2, 1)


def test_without_election_id_nobody_is_primary(clients):
    clients[0].ask(None)
    assert clients[0].last() == (Code.NOT_FOUND, 0)
    assert not clients[0].heard[0].arbitration.HasField("election_id")


def test_primary_leaves_and_only_a_higher_or_equal_id_follows(clients):
    a, b, c = clients
    a.ask(9)
    b.ask(4)
    a.leave()
    assert b.last() == (Code.NOT_FOUND, 9)
    b.ask(8)
    assert b.last() == (Code.NOT_FOUND, 9)
    c.ask(9)
    assert (b.last(), c.last()) == ((Code.ALREADY_EXISTS, 9), (Code.OK, 9))


def test_primary_can_step_down(clients):
    a, b, _ = clients
    a.ask(9)
    b.ask(4)
    a.ask(1)
    assert (a.last(), b.last()) == ((Code.NOT_FOUND, 9), (Code.NOT_FOUND, 9))


def test_ids_of_128_bits(clients):
    clients[0].ask(1 << 100)
    clients[1].ask((1 << 100) - 1)
    assert clients[1].last() == (Code.ALREADY_EXISTS, 1 << 100)
    clients[2].ask((1 << 128) - 1)
    assert clients[2].last() == (Code.OK, (1 << 128) - 1)


def test_those_that_stand_lowest_make_room():
    """Without an id, then backups by their ids, then primaries of a role, then the primary of everything."""
    arbitration = Arbitration(3)
    arbitration.max_controllers = 4
    nobody, backup, of_role, primary, late, later = (Client(arbitration) for _ in range(6))
    primary.ask(5)
    nobody.ask(None)
    of_role.ask(4, role="x")
    backup.ask(3)
    late.ask(2)
    room = "RESOURCE_EXHAUSTED: the stream makes room for a controller with a higher election id"
    assert [str(error) for error in nobody.ended] == [room]
    assert not nobody.controller.device_id
    with pytest.raises(RpcError, match="RESOURCE_EXHAUSTED: more than 4 open streams"):
        later.ask(1)
    later.ask(4)
    assert [str(error) for error in late.ended] == [room]
    late = Client(arbitration)
    late.ask(9, role="y")  # primary of another role
    assert [str(error) for error in backup.ended] == [room]
    last = Client(arbitration)
    last.ask(8)
    assert [str(error) for error in later.ended] == [room]
    assert primary.last() == (Code.ALREADY_EXISTS, 8)
    again = Client(arbitration)
    again.ask(9)
    assert [str(error) for error in primary.ended] == [room]
    for stays in (of_role, late, last, again):
        assert stays.ended == []
    full = Client(arbitration)
    full.ask(10)
    assert [str(error) for error in last.ended] == [room]
    everything = Client(arbitration)
    everything.ask(11)
    assert [str(error) for error in again.ended] == [room]
    highest = Client(arbitration)
    highest.ask(12)
    assert [str(error) for error in full.ended] == [room]
    assert of_role.ended == []


def test_the_primary_of_everything_stands_above_those_of_roles():
    arbitration = Arbitration(3)
    arbitration.max_controllers = 2
    whole, of_role, other = (Client(arbitration) for _ in range(3))
    whole.ask(5)
    of_role.ask(7, role="x")
    other.ask(100, role="y")
    assert (len(whole.ended), len(of_role.ended), len(other.ended)) == (0, 1, 0)


def test_names_of_roles_are_limited(clients):
    clients[0].ask(1, role="r" * MAX_ROLE_NAME)
    assert clients[0].last() == (Code.OK, 1)
    with pytest.raises(RpcError, match="INVALID_ARGUMENT: names of roles have at most 256 characters, config"):
        clients[1].ask(1, role="r" * (MAX_ROLE_NAME + 1))
    assert clients[1].heard == []


def test_roles_are_separate(clients):
    a, b, _ = clients
    a.ask(5, role="x")
    b.ask(3)
    assert (a.last()[0], b.last()[0]) == (Code.OK, Code.OK)
    a.arbitration.check_primary("x", 5)
    with pytest.raises(RpcError, match="NOT_FOUND: role 'y' is not known"):
        a.arbitration.check_primary("y", 5)


@pytest.mark.parametrize(
    ("act", "code", "message"),
    [
        (lambda a, b: b.ask(5), Code.INVALID_ARGUMENT, "election id 5 is in use by another controller"),
        (
            lambda a, b: a.ask(6, role="x"),
            Code.FAILED_PRECONDITION,
            "the stream has role ''; open another one for 'x'",
        ),
        (
            lambda a, b: a.arbitration.check_primary("", 4),
            Code.PERMISSION_DENIED,
            "only the primary controller may do this; that has election id 5",
        ),
    ],
)
def test_golden_refusals(clients, act, code, message):
    clients[0].ask(5)
    with pytest.raises(RpcError) as failure:
        act(clients[0], clients[1])
    assert (failure.value.code, failure.value.message) == (code, message)


STEPS = st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(1, 6), st.just("leave"))), max_size=30)


@pytest.mark.full
@given(STEPS)
@settings(derandomize=True, max_examples=200)
def test_against_the_model(steps):
    arbitration = Arbitration(0)
    clients = [Client(arbitration) for _ in range(4)]
    live, highest = {}, None
    for who, what in steps:
        if what == "leave":
            clients[who].leave()
            clients[who] = Client(arbitration)
            live.pop(who, None)
        else:
            clash = what is not None and any(n == what for c, n in live.items() if c != who)
            try:
                clients[who].ask(what)
            except RpcError:
                assert clash
            else:
                assert not clash
                live[who] = what
                if what is not None and (highest is None or what >= highest):
                    highest = what
        primaries = {c for c, n in live.items() if n is not None and n == highest}
        assert len(primaries) <= 1
        for c in live:
            assert arbitration.is_primary(clients[c].controller) == (c in primaries)
            expected = Code.OK if c in primaries else Code.ALREADY_EXISTS if primaries else Code.NOT_FOUND
            assert clients[c].last()[0] == expected
