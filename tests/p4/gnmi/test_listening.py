# SPDX-License-Identifier: Apache-2.0
"""The gNMI listener, and clients that mean it no good: one status each, and the next client is served.

Oracle: an honest client's session afterwards, and frames through the switch. Blind spot: floods that fill the machine.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from frames import ethernet
from gnmi_lab import Bench, Whole, refusal
from offramp_base.errors import OfframpError
from offramp_base.gnmi.paths import parse_path
from offramp_base.gnmi.schema import PROTO, SERVICE, gnmi
from offramp_base.gnmi.session import GnmiSession
from offramp_base.transport import open_io
from offramp_base.wire.batch import PacketBatch
from offramp_p4.runtime import calls
from offramp_p4.runtime.handlers import MAX_STREAMS
from offramp_p4.runtime.server import Server
from offramp_p4.settings import Settings
from offramp_p4_tools.dropin.simple_switch import main, settings
from offramp_p4_tools.dropin.words import read_words

pytestmark = pytest.mark.p4
METHODS = ["Capabilities", "Get", "Set", "Subscribe"]
NAME = "/interfaces/interface[name=1]/name"


@pytest.fixture
def channel(switch: Whole) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(switch.address, [("grpc.use_local_subchannel_pool", 1)]) as opened:
        yield opened


def serves(switch: Whole) -> None:
    """An honest client is answered, and a frame passes."""
    with GnmiSession(switch.address) as session:
        assert session.get(NAME) == {NAME: "1"}
        assert session.subscribe(NAME).until_sync() == {NAME: "1"}
    with contextlib.closing(open_io(switch.link(1))) as link:
        link.send(PacketBatch.of([(0, ethernet(dst=1))]))
        assert len(link.receive(10)) == 1


def streaming() -> Any:
    """A SubscribeRequest for everything, ten times a second."""
    wanted = gnmi.Subscription(path=gnmi.Path(), mode=gnmi.SubscriptionMode.Value("SAMPLE"))
    return gnmi.SubscribeRequest(subscribe=gnmi.SubscriptionList(subscription=[wanted], encoding=PROTO))


def refused(channel: grpc.Channel, method: str, *messages: bytes) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as error:
        list(channel.stream_stream(f"/{SERVICE}/{method}")(iter(messages), timeout=20))
    assert "\n" not in error.value.details()
    return error.value.code()


def eventually(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_it_is_off_unless_asked_for() -> None:
    assert Settings().gnmi is None


def test_a_unix_socket_is_this_user_s_alone(switch: Whole) -> None:
    assert stat.S_IMODE(Path(switch.address.removeprefix("unix:")).stat().st_mode) == 0o600


def test_other_machines_need_certificates_or_a_word(bench: Bench) -> None:
    with pytest.raises(OfframpError, match="other machines reach this address"):
        Server(bench.service, "0.0.0.0:0")


def test_the_launcher_keeps_it_on_this_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    known: dict[str, Any] = {"--gnmi-server-addr": "value", "--no-p4": "nothing"}
    line = read_words(["--no-p4", "--gnmi-server-addr", "0.0.0.0:9339"], known, {}, {})
    assert settings(line, "simple_switch_grpc").gnmi == "127.0.0.1:9339"
    assert "served on this machine only" in capsys.readouterr().err
    assert main(["--no-p4", "--gnmi-server-addr", f"unix:{tmp_path}/none/gnmi"], "simple_switch_grpc") == 2


@pytest.mark.parametrize("method", METHODS)
def test_garbage_is_said_to_be_garbage(switch: Whole, channel: grpc.Channel, method: str) -> None:
    whole = gnmi.GetRequest(path=[parse_path("/interfaces")]).SerializeToString()
    for noise in (b"\xff" * 30, whole[:-1], b"\x0a\x02\x12\xff", os.urandom(64) + b"\xff"):
        assert refused(channel, method, noise) is grpc.StatusCode.INVALID_ARGUMENT
    serves(switch)


def test_garbage_behind_a_subscription(switch: Whole, channel: grpc.Channel) -> None:
    first = streaming().SerializeToString()
    assert refused(channel, "Subscribe", first, b"\xff" * 30) is grpc.StatusCode.INVALID_ARGUMENT
    serves(switch)


@pytest.mark.parametrize("method", METHODS)
def test_a_message_that_is_too_large_is_refused(switch: Whole, channel: grpc.Channel, method: str) -> None:
    assert refused(channel, method, bytes(5 << 20)) is grpc.StatusCode.RESOURCE_EXHAUSTED
    serves(switch)


@pytest.mark.parametrize(
    "path",
    [
        gnmi.Path(elem=[gnmi.PathElem(name="a")] * 300_000),
        gnmi.Path(elem=[gnmi.PathElem(name="x" * 3_000_000)]),
        gnmi.Path(elem=[gnmi.PathElem(name="interface", key={str(n): "v" for n in range(50_000)})]),
        gnmi.Path(origin="o" * 3_000_000),
    ],
    ids=["long", "wide", "keys", "origin"],
)  # fmt: skip
def test_huge_paths_cost_one_line(switch: Whole, path: Any) -> None:
    with GnmiSession(switch.address) as session:
        code, message = refusal(session.call, "Get", gnmi.GetRequest(path=[path]))
        assert code in {"INVALID_ARGUMENT", "UNIMPLEMENTED"}
        assert len(message) < 500
        update = gnmi.Update(path=path, val=gnmi.TypedValue(bool_val=False))
        assert refusal(session.call, "Set", gnmi.SetRequest(update=[update]))[0] in {
            "INVALID_ARGUMENT",
            "NOT_FOUND",
            "UNIMPLEMENTED",
        }
    serves(switch)


def test_an_empty_call_and_an_unknown_method(switch: Whole, channel: grpc.Channel) -> None:
    for method in METHODS:
        assert refused(channel, method) is grpc.StatusCode.INVALID_ARGUMENT
    assert refused(channel, "Reboot", b"") is grpc.StatusCode.UNIMPLEMENTED
    serves(switch)


def test_a_call_that_says_nothing_is_ended(
    switch: Whole, channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "SILENT_S", 0.2)
    ended = threading.Event()

    def silence() -> Iterator[bytes]:
        ended.wait(20)
        yield from ()

    with pytest.raises(grpc.RpcError) as error:
        next(channel.stream_stream(f"/{SERVICE}/Subscribe")(silence(), timeout=20))
    ended.set()
    assert error.value.code() is grpc.StatusCode.CANCELLED
    serves(switch)


@pytest.mark.full
def test_a_thousand_subscribers_are_as_many_as_there_is_room_for(switch: Whole, channel: grpc.Channel) -> None:
    stub = channel.unary_stream(f"/{SERVICE}/Subscribe")
    held = [stub(streaming().SerializeToString(), timeout=120) for _ in range(1000)]
    codes = []
    for call in held:
        try:
            assert next(call)
        except grpc.RpcError as error:
            codes.append(error.code())
    assert set(codes) == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert len(codes) == 1000 - MAX_STREAMS
    with GnmiSession(switch.address) as session:
        assert session.get(NAME)  # a request of another kind has its own room
    for call in held:
        call.cancel()
    eventually(lambda: room(switch))
    serves(switch)


def room(switch: Whole) -> bool:
    """Whether there is room for a subscription."""
    with GnmiSession(switch.address) as session:
        try:
            return session.subscribe(NAME).until_sync() == {NAME: "1"}
        except OfframpError:
            return False


CLIENT = """
import sys
from offramp_base.gnmi.schema import gnmi
from offramp_base.gnmi.session import GnmiSession
request = gnmi.SubscribeRequest.FromString(bytes.fromhex(sys.argv[2]))
session = GnmiSession(sys.argv[1])
calls = [session.exchange([request]) for _ in range(32)]
for call in calls:
    next(call)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_client_that_vanishes_or_does_not_read(switch: Whole, number: signal.Signals) -> None:
    words = [sys.executable, "-c", CLIENT, switch.address, streaming().SerializeToString().hex()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "held\n"
        assert not room(switch)  # it has all there is
        client.send_signal(number)
        with GnmiSession(switch.address) as session:
            assert session.get(NAME)
        if number is signal.SIGSTOP:
            time.sleep(1.0)  # what it would have been sent meanwhile is not kept for it
            with contextlib.closing(open_io(switch.link(1))) as link:
                link.send(PacketBatch.of([(0, ethernet(dst=1))]))
                assert len(link.receive(10)) == 1
            client.kill()
        eventually(lambda: room(switch))
    serves(switch)


def test_a_slow_reader_gets_what_is_then_and_no_queue(bench: Bench) -> None:
    """Without a wire: between two responses that are taken, nothing is made."""
    wanted = gnmi.Subscription(path=parse_path("/.../in-pkts"), mode=gnmi.SubscriptionMode.Value("SAMPLE"))
    subscription = bench.service.subscribe(
        gnmi.SubscribeRequest(subscribe=gnmi.SubscriptionList(subscription=[wanted], encoding=PROTO))
    )
    responses = iter(subscription)
    assert next(responses).update.update[0].val.uint_val == 0
    assert next(responses).sync_response
    for count in range(1, 6):
        bench.links[1].stats.received = count
        time.sleep(0.12)
    assert next(responses).update.update[0].val.uint_val == 5
    bench.links[1].stats.received = 6
    begin = time.monotonic()
    assert next(responses).update.update[0].val.uint_val == 6
    assert time.monotonic() - begin < 10
    subscription.finish()
    assert list(responses) == []
