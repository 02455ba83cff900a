# SPDX-License-Identifier: Apache-2.0
"""A whole switch whose ports are disabled, enabled and counted over gNMI while frames run.

Oracle: what the hosts sent and received. Blind to: ports on interfaces, whose sockets count for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from frames import ethernet
from gnmi_lab import Bench, Whole, whole
from offramp_base.gnmi.paths import parse_path
from offramp_base.gnmi.schema import gnmi
from offramp_base.gnmi.session import GnmiSession
from offramp_base.transport import open_io
from offramp_base.wire.batch import PacketBatch
from offramp_p4.settings import Settings
from offramp_p4.state.match import Exact
from offramp_p4_tools.bfrt import fixed
from offramp_p4_tools.bfrt.stores.ports import PortStore
from offramp_p4_tools.bfrt.values import EntryData

pytestmark = pytest.mark.p4
ENABLED = "/interfaces/interface[name={}]/config/enabled"
COUNTERS = "/interfaces/interface[name={}]/state/counters/{}"
QUIET_S = 0.3


@pytest.fixture
def session(switch: Whole) -> Iterator[GnmiSession]:
    with GnmiSession(switch.address) as opened:
        yield opened


@pytest.fixture
def hosts(switch: Whole) -> Iterator[dict[int, Any]]:
    """Both, each after a frame to itself, so that the switch has taken its link."""
    with ExitStack() as stack:
        links = {number: open_io(switch.link(number)) for number in (1, 2)}
        for number, link in links.items():
            stack.callback(link.close)
            send(link, number, 1)
            assert received(link, 1) == 1
        yield links


def send(link: Any, to: int, count: int = 3) -> None:
    link.send(PacketBatch.of([(0, ethernet(dst=to) + bytes(50))] * count))


def received(link: Any, count: int) -> int:
    """Number of ``count`` frames that come; where fewer are expected, all that come within a while."""
    came = 0
    while came < count:
        batch = len(link.receive(10 if count else QUIET_S))
        if not batch:
            break
        came += batch
    return came


def counters(session: GnmiSession, number: int) -> dict[str, Any]:
    """By name, without the frame of :func:`hosts`."""
    first = {"octets": 64, "pkts": 1, "unicast-pkts": 1}
    of = {path.rpartition("/")[2]: value for path, value in session.get(COUNTERS.format(number, "*")).items()}
    return {name: value - first.get(name.partition("-")[2], 0) for name, value in of.items()}


def settled(session: GnmiSession, name: str, number: int, value: int) -> None:
    """Wait until a counter has a value: a host has a frame before the switch counts it, octets last."""
    path = COUNTERS.format(number, name)
    wanted = gnmi.Subscription(path=parse_path(path), mode=gnmi.SubscriptionMode.Value("SAMPLE"))
    call = session.subscribe(wanted, mode="STREAM")
    for response in call:
        if any(update.val.uint_val >= value for update in response.update.update):
            break
    call.cancel()
    assert session.get(path) == {path: value}


def test_frames_pass_are_dropped_and_pass_again(session: GnmiSession, hosts: dict[int, Any]) -> None:
    send(hosts[1], 2)
    assert received(hosts[2], 3) == 3
    session.update({ENABLED.format(2): False})
    send(hosts[1], 2)  # dropped where it would leave
    settled(session, "out-discards", 2, 3)
    send(hosts[2], 1)  # dropped where it comes in
    settled(session, "in-discards", 2, 3)
    assert received(hosts[2], 0) == received(hosts[1], 0) == 0
    session.update({ENABLED.format(2): True})
    send(hosts[2], 1)
    send(hosts[1], 2)
    assert received(hosts[1], 3) == received(hosts[2], 3) == 3
    settled(session, "out-octets", 1, 4 * 64)
    settled(session, "out-octets", 2, 7 * 64)
    first, second = counters(session, 1), counters(session, 2)
    assert (first["in-unicast-pkts"], first["out-unicast-pkts"], first["out-octets"]) == (9, 3, 3 * 64)
    assert (second["in-unicast-pkts"], second["out-unicast-pkts"], second["out-octets"]) == (3, 6, 6 * 64)
    assert (second["in-pkts"], second["in-octets"], second["interface-transitions"]) == (6, 6 * 64, 2)


def test_counters_of_the_wire_are_those_of_the_hosts(session: GnmiSession, hosts: dict[int, Any]) -> None:
    sent = [ethernet(dst=2) + bytes(n) for n in range(40)]
    hosts[1].send(PacketBatch.of([(0, frame) for frame in sent]))
    assert received(hosts[2], 40) == 40
    octets = sum(map(len, sent))
    settled(session, "out-octets", 2, octets + 64)
    assert (counters(session, 1)["in-octets"], counters(session, 2)["out-octets"]) == (octets, octets)


def test_without_anybody_who_manages_ports_none_is_gated(tmp_path: Path) -> None:
    assert Settings().gnmi is None
    with whole(tmp_path, gnmi=None) as running:
        assert set(running.running.servers) == {"P4Runtime"}
        assert {type(port).__name__ for port in running.running.ports.values()} == {"UnixPort"}


def test_the_same_address_serves_p4runtime_and_gnmi(tmp_path: Path) -> None:
    with (
        whole(tmp_path, gnmi=f"unix:{tmp_path}/p4rt") as running,
        GnmiSession(running.running.address) as session,
    ):
        assert running.address == running.running.address
        assert session.get(ENABLED.format(1)) == {ENABLED.format(1): True}


def test_bf_rt_disables_ports_too_and_both_see_it() -> None:
    bench = Bench()
    store = PortStore(fixed.chip().tables[fixed.PORT], bench.panel)

    def seen(number: int) -> tuple[Any, Any]:
        values = store.get((Exact(number),)).values
        return values["$PORT_ENABLE"], values["$PORT_UP"]

    store.modify((Exact(1),), EntryData(None, {"$PORT_ENABLE": False}))
    assert bench.enabled() == {1: False, 2: True, 3: True}
    assert seen(1) == (False, False)
    bench.panel.enable({2: False})
    assert seen(2) == (False, False)
    store.modify((Exact(2),), EntryData(None, {"$SPEED": "BF_SPEED_10G"}))
    assert not bench.panel.enabled(2)  # another field says nothing of it
    store.delete((Exact(3),))
    assert bench.enabled() == dict.fromkeys((1, 2, 3), False)
    store.insert((Exact(3),), EntryData(None, {"$PORT_ENABLE": True, "$SPEED": "BF_SPEED_10G"}))
    assert seen(3) == (True, True)
    again = PortStore(fixed.chip().tables[fixed.PORT], bench.panel)  # as for another program
    assert bench.enabled() == {1: False, 2: False, 3: True}
    assert again.get((Exact(1),)).values["$PORT_ENABLE"] is False
