# SPDX-License-Identifier: Apache-2.0
"""A controller, and packets over a switch's ports, while strangers greet the same listeners: all right, and none late.

Oracle: the entries that were written and the frames that were sent. Blind spot: strangers that fill the line.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from frames import ethernet, mac
from offramp_base.p4rt.session import Session
from offramp_base.transport import open_io
from offramp_base.wire.batch import PacketBatch
from offramp_p4.embedded import EmbeddedSwitch
from siege import assert_undisturbed, besiege

pytestmark = pytest.mark.full

PROGRAM = Path(__file__).parents[2] / "conformance" / "conformance.p4"
RESEND_S = 0.05
Job = Callable[[int], None]


@contextlib.contextmanager
def controller(tmp_path: Path) -> Iterator[tuple[str, Job]]:
    """Entries that come, are read back, and go."""
    with EmbeddedSwitch(PROGRAM, [1, 2], workdir=tmp_path / "s") as switch, Session(switch.address) as session:

        def step(number: int) -> None:
            entry = session.table_entry("mac", {"hdr.ethernet.dst": number + 1}, "forward", {"port": 1})
            session.insert([entry])
            assert session.read_table("mac") == [entry.table_entry]
            session.delete([entry])

        yield switch.address, step


@contextlib.contextmanager
def packets(tmp_path: Path, transport: str) -> Iterator[tuple[str, Job]]:
    """Frames from a port to the other."""
    with EmbeddedSwitch(PROGRAM, [1, 2], workdir=tmp_path / "s", transport=transport) as switch:
        with Session(switch.address) as session:
            session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(7)}, "forward", {"port": 2})])
        links = [open_io(spec) for spec in switch.port_specs]
        sent: set[bytes] = set()

        def step(number: int) -> None:
            frames = [ethernet(dst=7, src=number) + bytes([echo]) for echo in range(8)]
            sent.update(frames)
            missing, end = frames, time.monotonic() + 30
            while missing:  # a flood fills the socket of the port: what is lost there is sent again, as workers do
                assert time.monotonic() < end
                links[0].send(PacketBatch.of([(0, frame) for frame in missing]))
                again = time.monotonic() + RESEND_S
                while missing and time.monotonic() < again:
                    came = list(links[1].receive(RESEND_S).frames())
                    assert set(came) <= sent  # of an earlier step's frames, some sent again may come only now
                    missing = [frame for frame in missing if frame not in came]

        step(0)
        links[1].send(PacketBatch.of([(0, ethernet(dst=9))]))  # so that the port knows this host before any other
        address = switch.port_specs[1]
        yield address if transport == "udp" else f"seqpacket:{address.partition(':')[2]}", step
        for link in links:
            link.close()


JOBS = {
    "P4Runtime": controller,
    "UDP": partial(packets, transport="udp"),
    "unix": partial(packets, transport="unix"),
    "shm": partial(packets, transport="shm"),
}


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_a_job_is_right_while_strangers_greet(job, tmp_path: Path) -> None:
    with job(tmp_path) as (address, step):
        besiege(address, step, 600, 0, 1)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_ten_thousand_strangers_do_not_slow_a_job(job, tmp_path: Path) -> None:
    with job(tmp_path) as (address, step):
        assert_undisturbed(address, step)
