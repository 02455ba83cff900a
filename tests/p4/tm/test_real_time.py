# SPDX-License-Identifier: Apache-2.0
"""The traffic manager of a running switch, by the clock on the wall."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import namespaces
from offramp_base.transport import open_io
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import wire_bytes
from offramp_p4.embedded import EmbeddedSwitch
from offramp_p4.tm import QueueConfig, TmConfig

pytestmark = pytest.mark.full

PROGRAM = Path(__file__).with_name("queues.p4")
RUN = "import typer; from offramp_cli.switch.run import run; app = typer.Typer(); app.command()(run); app()"
RATE = 4_000_000
SIZE = 1000
FRAME_S = wire_bytes(SIZE) * 8 / RATE


def frames(port: int, priority: int, count: int) -> list[tuple[int, bytes]]:
    return [(0, bytes([port, priority]) + bytes(SIZE - 2)) for _ in range(count)]


def collect(link) -> list[tuple[float, bytes]]:
    """(seconds, frame) of all frames until none comes for a second."""
    got: list[tuple[float, bytes]] = []
    while len(batch := link.receive(1)):
        got += [(time.monotonic(), frame) for frame in batch.frames()]
    return got


def assert_paced(start: float, got: list[tuple[float, bytes]]) -> None:
    """No frame came before the line can have sent it; the last one not later than a busy machine makes it."""
    assert all(at >= start + number * FRAME_S - 1e-5 for number, (at, _) in enumerate(got, 1))
    assert got[-1][0] < start + len(got) * FRAME_S + 1


def test_the_command_line_paces_a_port_serves_priorities_first_and_counts(tmp_path: Path) -> None:
    options = ["-i", f"1@unix:{tmp_path}/1", "-i", f"2@unix:{tmp_path}/2", "--grpc-server-addr", "127.0.0.1:0"]
    options += ["--priority-queues", "8", "--port-rate", "2=4mbit", "--queue-packets", "100"]
    process = subprocess.Popen([sys.executable, "-c", RUN, str(PROGRAM), *options], stdout=subprocess.PIPE, text=True)
    for _ in range(4):
        process.stdout.readline()
    sender, receiver = (open_io(f"unix:{tmp_path}/{n}") for n in (1, 2))
    try:
        sender.send(PacketBatch.of(frames(1, 0, 1)))  # back to the sender: both are connected then
        assert len(sender.receive(5)) == 1
        start = time.monotonic()
        sender.send(PacketBatch.of(frames(2, 0, 130) + frames(2, 5, 50)))
        got = collect(receiver)
    finally:
        process.send_signal(signal.SIGINT)
        tail, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert_paced(start, got)
    priorities = [frame[1] for _, frame in got]
    first = priorities.index(5)
    assert first < 50  # the line did not wait for the later ones
    assert priorities[first:] == [5] * 50 + [0] * (len(got) - 50 - first)
    rows = [[int(n) for n in re.findall(r"\d+", row)] for row in tail.splitlines() if re.match(r" *2 +\d+ ", row)]
    low = len(got) - 50
    assert [row[:7] for row in rows] == [[2, 0, low, low, 130 - low, 0, 0], [2, 5, 50, 50, 0, 0, 0]]
    assert 100 <= low < 130
    assert rows[0][7:] == [100, 100_000]


@pytest.mark.netns
def test_interfaces_are_paced_and_tail_dropped(tmp_path: Path) -> None:
    namespaces.require()
    config = TmConfig.uniform(rates={2: RATE}, queue=QueueConfig(limit_bytes=60 * SIZE))
    with namespaces.Namespace() as namespace:
        namespace.veth("h1", "s1")
        namespace.veth("h2", "s2")
        running = EmbeddedSwitch(
            PROGRAM, [1, 2], workdir=tmp_path, interfaces=["s1", "s2"], launcher=namespace.command, tm=config
        )
        with running:
            h1, h2 = (namespace.call(lambda n=n: open_io(n)) for n in ("h1", "h2"))
            start = time.monotonic()
            h1.send(PacketBatch.of(frames(2, 0, 40)))
            got = collect(h2)
            assert len(got) == 40
            assert_paced(start, got)
            depths = [int.from_bytes(frame[12:16], "big") for _, frame in got]
            assert max(depths) > 20  # the queue was there, and the program saw it
            h1.send(PacketBatch.of(frames(2, 0, 100)))
            assert 60 <= len(collect(h2)) < 100  # the queue, and what the line took meanwhile
            h1.close()
            h2.close()


@pytest.mark.netns
def test_a_link_that_tc_has_made_slow_fills_the_queue_that_the_program_sees(tmp_path: Path) -> None:
    """As Mininet's links with a bandwidth do; blind to qdiscs that drop instead of waiting."""
    namespaces.require()
    with namespaces.Namespace() as namespace:
        namespace.veth("h1", "s1")
        namespace.veth("h2", "s2")
        namespace.run("tc", "qdisc", "add", "dev", "s2", "root", "tbf", "rate", "8mbit", "burst", "4kb", "limit", "4mb")
        running = EmbeddedSwitch(
            PROGRAM,
            [1, 2],
            workdir=tmp_path,
            interfaces=["s1", "s2"],
            launcher=namespace.command,
            tm=TmConfig.uniform(),
        )
        with running:
            h1, h2 = (namespace.call(lambda n=n: open_io(n)) for n in ("h1", "h2"))
            start = time.monotonic()
            for _ in range(40):
                h1.send(PacketBatch.of(frames(2, 0, 10)))
                time.sleep(0.002)
            got = collect(h2)
            h1.close()
            h2.close()
    assert len(got) == 400
    assert got[-1][0] - start > 390 * SIZE * 8 / 8_000_000
    depths = [int.from_bytes(frame[12:16], "big") for _, frame in got]
    assert depths[0] == 0
    assert max(depths) > 20
