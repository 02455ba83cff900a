# SPDX-License-Identifier: Apache-2.0
"""The client's own part of BF-RT: what its entries hold, what it reads, and that it leaves the device to the next one.

Oracle: the messages' fields, and the switch's own counters and groups. Blind spot: devices that are not ours.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bfrt_device import BfrtDevice, bfrt_device
from offramp.bfrt.session import BfrtSession
from offramp_base.bfrt.schema import bf
from offramp_base.errors import OfframpError

pytestmark = pytest.mark.p4


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory, program) -> Iterator[BfrtDevice]:
    with bfrt_device(tmp_path_factory.mktemp("session"), program) as running:
        yield running


@pytest.fixture
def session(device: BfrtDevice) -> Iterator[BfrtSession]:
    with BfrtSession(device.address, "all", client_id=3) as opened:
        opened.bind()
        yield opened


def test_lists_are_sent_as_lists(device: BfrtDevice, session: BfrtSession) -> None:
    members = [
        session.entry("pipe.I.members", {"$ACTION_MEMBER_ID": n}, "I.mark", {"value": 10 * n})
        for n in (1, 2)
    ]  # fmt: skip
    session.insert(members)
    data = {"$ACTION_MEMBER_ID": [1, 2], "$ACTION_MEMBER_STATUS": [True, False], "$MAX_GROUP_SIZE": 4}
    group = session.entry("pipe.I.groups", {"$SELECTOR_GROUP_ID": 7}, data=data)
    ids, status, most = group.data.fields
    assert list(ids.int_arr_val.val) == [1, 2]
    assert list(status.bool_arr_val.val) == [True, False]
    assert int.from_bytes(most.stream, "big") == 4
    session.insert([group])
    assert len([*device.store("pipe.I.groups").keys()]) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"$ACTION_MEMBER_ID": 1}, r"\$ACTION_MEMBER_ID = 1: expected a list"),
        ({"$ACTION_MEMBER_ID": "1"}, r"\$ACTION_MEMBER_ID = 1: expected a list"),
        ({"$MAX_GROUP_SIZE": [4]}, r"\$MAX_GROUP_SIZE = \[4\]: expected a number"),
    ],
)
def test_values_of_the_wrong_kind_are_refused(session: BfrtSession, data, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        session.entry("pipe.I.groups", {"$SELECTOR_GROUP_ID": 8}, data=data)


def test_counters_by_index(device: BfrtDevice, session: BfrtSession, monkeypatch: pytest.MonkeyPatch) -> None:
    for index, count in enumerate((4, 0, 1 << 31)):
        device.switch.counters["pipe.I.counter"].write(index, count, 0)
    assert session.read_counter("pipe.I.counter", 3) == [4, 0, 1 << 31]
    assert session.read_counter("pipe.I.counter", 0) == []
    read, entities = session._connection.read, []
    monkeypatch.setattr(
        session._connection, "read", lambda *asked: entities or entities.extend(read(*asked)) or entities[2:]
    )
    assert session.read_counter("pipe.I.counter", 3) == [0, 0, 1 << 31]  # what is not told counts nothing
    with pytest.raises(OfframpError, match="an index that was not asked for"):
        session.read_counter("pipe.I.counter", 2)  # the answer to the question before holds index 2


def test_targets_are_all_pipes_directions_and_parsers(session: BfrtSession) -> None:
    target = session._target()
    assert (target.device_id, target.pipe_id, target.direction, target.prsr_id) == (0, 0xFFFF, 0xFF, 0xFF)


def test_a_client_in_charge_is_known_after_bind_alone(device: BfrtDevice) -> None:
    with BfrtSession(device.address, "all", client_id=3) as first:
        first.bind()
        with BfrtSession(device.address, "all", client_id=4) as second, pytest.raises(OfframpError, match="client 3"):
            second.bind()


def test_a_client_that_is_refused_leaves_no_connection(device: BfrtDevice, session: BfrtSession) -> None:
    late = BfrtSession(device.address, "all", client_id=3)
    with pytest.raises(OfframpError, match="client id 3 is in use"):
        late.__enter__()
    with pytest.raises(ValueError, match="closed channel"):
        late._connection.unary("Write", bf.WriteRequest(), 1.0)
    assert len(session.read_counter("pipe.I.counter", 1)) == 1  # the one before it goes on
