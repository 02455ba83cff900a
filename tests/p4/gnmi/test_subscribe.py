# SPDX-License-Identifier: Apache-2.0
"""Every mode of Subscribe over gRPC.

Oracle: the values that the test gives the ports, and the specification's order of updates and ``sync_response``.
Blind to: how punctual samples are, which the machine decides; that they are no more frequent than asked is seen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from gnmi_lab import Bench, refusal
from offramp_base.gnmi.paths import parse_path
from offramp_base.gnmi.schema import JSON_IETF, PROTO, gnmi
from offramp_base.gnmi.session import GnmiSession
from offramp_p4.runtime.server import Server
from offramp_p4_tools.gnmi import watches
from offramp_p4_tools.gnmi.watches import LEAST_NS, NS

pytestmark = pytest.mark.p4
ADMIN = "/interfaces/interface[name={}]/state/admin-status"
OPER = "/interfaces/interface[name={}]/state/oper-status"
PACKETS = "/interfaces/interface[name=1]/state/counters/in-pkts"
TARGET_DEFINED, ON_CHANGE, SAMPLE = range(3)


@pytest.fixture
def session(bench: Bench, tmp_path: Path) -> Iterator[GnmiSession]:
    with Server(bench.service, f"unix:{tmp_path}/gnmi") as server, GnmiSession(server.address) as opened:
        yield opened


def subscription(path: str, mode: int, **fields: Any) -> Any:
    return gnmi.Subscription(path=parse_path(path), mode=mode, **fields)


def request(*subscriptions: Any, mode: int = 0, **fields: Any) -> Any:
    wanted = gnmi.SubscriptionList(subscription=subscriptions, mode=mode, **{"encoding": PROTO, **fields})
    return gnmi.SubscribeRequest(subscribe=wanted)


def next_values(call: Any) -> dict[str, Any]:
    """The values of the next response, which is not a ``sync_response``."""
    from offramp_base.gnmi.session import values

    response = next(call)
    assert response.WhichOneof("response") == "update"
    return dict(values([response.update]))


def test_once(bench: Bench, session: GnmiSession) -> None:
    bench.links[1].stats.received = 5
    call = session.subscribe(PACKETS, ADMIN.format("*"))
    assert call.until_sync() == {PACKETS: 5, **{ADMIN.format(n): "UP" for n in (1, 2, 3)}}
    assert list(call) == []


def test_once_of_what_is_not_there_is_empty(session: GnmiSession) -> None:
    call = session.subscribe(ADMIN.format(9))
    assert [response.sync_response for response in call] == [True]


def test_once_with_a_prefix_and_json(session: GnmiSession) -> None:
    prefix = parse_path("/interfaces/interface[name=2]")
    prefix.target = "leaf1"
    first = next(session.subscribe("state/last-change", prefix=prefix, encoding=JSON_IETF))
    assert first.update.prefix.target == "leaf1"
    assert first.update.update[0].val.json_ietf_val.startswith(b'"1')


def test_a_large_answer_comes_in_parts(tmp_path: Path) -> None:
    big = Bench(tuple(range(1, 65)))
    with Server(big.service, f"unix:{tmp_path}/gnmi") as server, GnmiSession(server.address) as session:
        responses = list(session.subscribe("/"))
    sizes = [len(response.update.update) for response in responses[:-1]]
    assert sum(sizes) == len(big.get("/", encoding=PROTO))
    assert max(sizes) == 500


def test_poll(bench: Bench, session: GnmiSession) -> None:
    said: SimpleQueue[Any] = SimpleQueue()
    said.put(request(subscription(PACKETS, TARGET_DEFINED), mode=gnmi.SubscriptionList.POLL))
    call = session.exchange(iter(said.get, None), timeout_s=20)
    assert call.until_sync() == {PACKETS: 0}
    for expected in range(1, 4):
        bench.links[1].stats.received = expected
        said.put(gnmi.SubscribeRequest(poll=gnmi.Poll()))
        assert call.until_sync() == {PACKETS: expected}
    said.put(None)
    assert list(call) == []  # the client says no more, and is answered no more: the call ends well


def test_sample_comes_as_often_as_asked(bench: Bench, session: GnmiSession) -> None:
    wanted = subscription(PACKETS, SAMPLE, sample_interval=2 * LEAST_NS)
    call = session.exchange([request(wanted)], timeout_s=20)
    begin = time.monotonic_ns()
    assert call.until_sync() == {PACKETS: 0}
    for expected in range(1, 5):
        bench.links[1].stats.received = expected
        assert next_values(call) == {PACKETS: expected}
    assert time.monotonic_ns() - begin > 4 * 2 * LEAST_NS - LEAST_NS
    call.cancel()


def test_sample_repeats_what_is_the_same_unless_it_is_suppressed(bench: Bench, session: GnmiSession) -> None:
    paths = f"{PACKETS.rpartition('/')[0]}/*"
    plain = session.exchange([request(subscription(paths, SAMPLE))], timeout_s=20)
    every = plain.until_sync()
    assert next_values(plain) == every
    plain.cancel()
    wanted = subscription(paths, SAMPLE, suppress_redundant=True)
    call = session.exchange([request(wanted)], timeout_s=20)
    assert call.until_sync() == every
    bench.links[1].stats.received = 7
    assert next_values(call) == {PACKETS: 7}
    bench.links[1].stats.received = 8
    assert next_values(call) == {PACKETS: 8}
    call.cancel()


def test_a_heartbeat_repeats_what_is_suppressed(session: GnmiSession) -> None:
    fields = {"sample_interval": LEAST_NS, "suppress_redundant": True, "heartbeat_interval": 3 * LEAST_NS}
    call = session.exchange([request(subscription(PACKETS, SAMPLE, **fields))], timeout_s=20)
    begin = time.monotonic_ns()
    assert call.until_sync() == {PACKETS: 0}
    assert next_values(call) == next_values(call) == {PACKETS: 0}
    assert time.monotonic_ns() - begin > 6 * LEAST_NS - LEAST_NS
    call.cancel()


def test_a_change_is_told_when_it_happens(bench: Bench, session: GnmiSession) -> None:
    call = session.exchange([request(subscription(ADMIN.format("*"), ON_CHANGE))], timeout_s=20)
    assert call.until_sync() == {ADMIN.format(n): "UP" for n in (1, 2, 3)}
    for on, status in ((False, "DOWN"), (True, "UP")):
        bench.panel.enable({2: on})
        assert next_values(call) == {ADMIN.format(2): status}
    bench.panel.enable({2: True})  # the same again: nothing is told
    bench.panel.enable({3: False})
    assert next_values(call) == {ADMIN.format(3): "DOWN"}
    call.cancel()


def test_a_link_that_goes_down_is_told(bench: Bench, session: GnmiSession) -> None:
    last = "/interfaces/interface[name=1]/state/last-change"
    wanted = [subscription(path, ON_CHANGE) for path in (OPER.format(1), last)]
    call = session.exchange([request(*wanted)], timeout_s=20)
    before = call.until_sync()[last]
    bench.device.set_links({1: False, 2: True, 3: True})
    assert next_values(call) == {OPER.format(1): "DOWN"}
    assert next_values(call)[last] > before
    call.cancel()


def test_counters_that_change_are_told_too(bench: Bench, session: GnmiSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "LOOK_NS", NS // 20)
    call = session.exchange([request(subscription(PACKETS, ON_CHANGE))], timeout_s=20)
    assert call.until_sync() == {PACKETS: 0}
    for expected in (3, 9):
        bench.links[1].stats.received = expected
        assert next_values(call) == {PACKETS: expected}
    call.cancel()


def test_a_heartbeat_repeats_what_has_not_changed(session: GnmiSession) -> None:
    wanted = subscription(ADMIN.format(1), ON_CHANGE, heartbeat_interval=LEAST_NS)
    call = session.exchange([request(wanted)], timeout_s=20)
    assert call.until_sync() == next_values(call) == next_values(call) == {ADMIN.format(1): "UP"}
    call.cancel()


def test_the_switch_chooses_by_leaf(bench: Bench, session: GnmiSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "OWN_NS", NS // 2)
    wanted = [subscription(path, TARGET_DEFINED) for path in (PACKETS, ADMIN.format(1))]
    call = session.exchange([request(*wanted)], timeout_s=20)
    assert call.until_sync() == {PACKETS: 0, ADMIN.format(1): "UP"}
    assert next_values(call) == {PACKETS: 0}  # sampled though it is the same
    bench.panel.enable({1: False})
    seen = [next_values(call) for _ in range(2)]
    assert {ADMIN.format(1): "DOWN"} in seen
    call.cancel()


@pytest.mark.parametrize("mode", ["ONCE", "STREAM"])
def test_updates_only(bench: Bench, session: GnmiSession, mode: str) -> None:
    call = session.subscribe(subscription(ADMIN.format("*"), ON_CHANGE), mode=mode, updates_only=True)
    assert next(call).sync_response
    if mode == "ONCE":
        assert list(call) == []
        return
    bench.panel.enable({1: False})
    assert next_values(call) == {ADMIN.format(1): "DOWN"}
    call.cancel()


def test_updates_only_of_polls_is_the_sync_alone(session: GnmiSession) -> None:
    requests = [
        request(subscription("/", TARGET_DEFINED), mode=gnmi.SubscriptionList.POLL, updates_only=True),
        gnmi.SubscribeRequest(poll=gnmi.Poll()),
    ]
    assert [response.sync_response for response in session.exchange(requests, timeout_s=20)] == [True, True]


POLL = gnmi.SubscribeRequest(poll=gnmi.Poll())
ONE = subscription("/", SAMPLE)


@pytest.mark.parametrize(
    ("requests", "code"),
    [
        ([POLL], "INVALID_ARGUMENT"),
        ([gnmi.SubscribeRequest()], "INVALID_ARGUMENT"),
        ([gnmi.SubscribeRequest(aliases=gnmi.AliasList())], "INVALID_ARGUMENT"),
        ([request()], "INVALID_ARGUMENT"),
        ([request(ONE, mode=7)], "INVALID_ARGUMENT"),
        ([request(ONE, encoding=1)], "UNIMPLEMENTED"),
        ([request(ONE, use_aliases=True)], "UNIMPLEMENTED"),
        ([request(ONE, qos=gnmi.QOSMarking(marking=5))], "UNIMPLEMENTED"),
        ([request(ONE, use_models=[gnmi.ModelData(name="x")])], "INVALID_ARGUMENT"),
        ([request(subscription("/", 5))], "INVALID_ARGUMENT"),
        ([request(subscription("/", SAMPLE, sample_interval=LEAST_NS - 1))], "INVALID_ARGUMENT"),
        ([request(subscription("/", SAMPLE, sample_interval=(1 << 64) - 1))], "INVALID_ARGUMENT"),
        ([request(subscription("/", ON_CHANGE, heartbeat_interval=1))], "INVALID_ARGUMENT"),
        ([request(subscription("/", TARGET_DEFINED, sample_interval=NS))], "INVALID_ARGUMENT"),
        ([request(subscription("/system", ON_CHANGE))], "UNIMPLEMENTED"),
        ([request(*[ONE] * 1025)], "RESOURCE_EXHAUSTED"),
        ([request(*[subscription("/", SAMPLE, sample_interval=LEAST_NS)] * 40)], "RESOURCE_EXHAUSTED"),
        ([request(ONE), POLL], "INVALID_ARGUMENT"),
        ([request(ONE), request(ONE)], "INVALID_ARGUMENT"),
        ([request(ONE, mode=gnmi.SubscriptionList.POLL), *[POLL] * 100_000], "RESOURCE_EXHAUSTED"),
    ],
)
def test_what_cannot_be_subscribed_to(session: GnmiSession, requests: list[Any], code: str) -> None:
    code_sent, message = refusal(list, session.exchange(requests, timeout_s=30))
    assert code_sent == code
    assert message.isprintable()
    assert session.get("/interfaces/interface[name=1]/name")
