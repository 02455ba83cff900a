# SPDX-License-Identifier: Apache-2.0
"""Clients of the switch's other services while strangers greet the same listener: silence, noise, halves, lengths.

Oracle: the answers that the client gets in peace. Blind to strangers that fill the line.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bfrt_device import bfrt_device
from dap_client import over_socket
from gnmi_lab import whole
from nanomsg_subscriber import message, subscriber
from offramp.bfrt.session import BfrtSession
from offramp_base.gnmi.session import GnmiSession
from offramp_p4.frontend import load_pushed
from offramp_p4_tools.debug.debugger import Debugger
from offramp_p4_tools.debug.server import Attacher, DebugServer
from offramp_p4_tools.dropin.nanomsg import Publisher
from offramp_p4_tools.dropin.thrift.client import ThriftClient
from siege import assert_undisturbed, besiege
from thrift_switch import serving
from tna_programs import tna

pytestmark = [pytest.mark.p4, pytest.mark.full]

Job = Callable[[int], None]
FEATURES = Path(__file__).parent / "features.p4"
NAME = "/interfaces/interface[name=1]/name"
COUNTED = tna("counter.count(3);", local="Counter<bit<32>, bit<3>>(8, CounterType_t.PACKETS) counter;")
MOST_GROWTH = 64 << 20
"""Bytes by which a siege may enlarge the process; a length that a stranger only names is never allocated."""


@contextlib.contextmanager
def gnmi(folder: Path) -> Iterator[tuple[str, Job]]:
    """Names of ports, read again and again."""
    with whole(folder) as switch, GnmiSession(switch.address) as session:

        def step(_: int) -> None:
            assert session.get(NAME) == {NAME: "1"}

        yield switch.address, step


@contextlib.contextmanager
def bfrt(folder: Path) -> Iterator[tuple[str, Job]]:
    """A counter, read again and again."""
    with (
        bfrt_device(folder, load_pushed(COUNTED, "counted.p4")) as device,
        BfrtSession(device.address, "counted", client_id=1) as session,
    ):
        session.bind()

        def step(_: int) -> None:
            assert session.read_counter("pipe.I.counter", 1) == [0]

        yield device.address, step


@contextlib.contextmanager
def thrift(_: Path) -> Iterator[tuple[str, Job]]:
    """A register of bmv2's run-time service, read again and again."""
    with serving(FEATURES) as server, ThriftClient("127.0.0.1", server.port) as client:

        def step(_: int) -> None:
            assert client.call("standard", "bm_get_config_md5") == digest

        digest = client.call("standard", "bm_get_config_md5")
        yield f"127.0.0.1:{server.port}", step


@contextlib.contextmanager
def debugger(_: Path) -> Iterator[tuple[str, Job]]:
    """The threads of a switch, asked for again and again."""
    server = DebugServer("127.0.0.1:0", lambda: Attacher(Debugger()))
    address = ":".join(map(str, server.address.where))
    try:
        with over_socket(address) as client:
            client.request("initialize", adapterID="offramp")
            client.request("attach")

            def step(_: int) -> None:
                assert len(client.request("threads")["threads"]) == 1

            yield address, step
    finally:
        server.close()


@contextlib.contextmanager
def notifications(folder: Path) -> Iterator[tuple[str, Job]]:
    """Messages of bmv2's publisher, each to a subscriber."""
    with Publisher(f"ipc://{folder}/notes.ipc") as publisher, subscriber(publisher) as friend:

        def step(number: int) -> None:
            note = b"%d" % number
            publisher.publish(note)
            assert message(friend) == note

        yield f"unix:{folder}/notes.ipc", step


JOBS = {"gNMI": gnmi, "BF-RT": bfrt, "Thrift": thrift, "DAP": debugger, "nanomsg": notifications}


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_answers_are_right_while_strangers_greet(job, tmp_path: Path) -> None:
    with job(tmp_path) as (address, step):
        step(0)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        besiege(address, step, 400, 0, 1)
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < MOST_GROWTH
    end = time.monotonic() + 20
    while len(list(Path("/proc/self/fd").iterdir())) > 200 or threading.active_count() > 50:  # strangers are let go
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("job", [thrift, debugger])
def test_a_new_client_is_served_though_strangers_hold_all_places(job, tmp_path: Path) -> None:
    with job(tmp_path) as (address, step), contextlib.ExitStack() as stack:
        host, port = address.split(":")
        for _ in range(300):
            stack.enter_context(socket.create_connection((host, int(port)), 10))
        step(0)
        if job is thrift:
            with ThriftClient(host, int(port)) as other:
                assert other.call("standard", "bm_get_config_md5")
        else:
            with over_socket(address) as other:
                assert other.request("initialize", adapterID="other")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_ten_thousand_strangers_do_not_slow_a_client(job, tmp_path: Path) -> None:
    with job(tmp_path) as (address, step):
        assert_undisturbed(address, step)
