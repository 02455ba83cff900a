# SPDX-License-Identifier: Apache-2.0
"""Parts of DGTP's runtime: rates, frames, the inbox, Adam on parts, and the scheduler against the exact engine.

Blind to: the kernel's queues, and processes that are late.
"""

from __future__ import annotations

import contextlib
import heapq
import socket
import threading
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from offramp.dgtp.colocation import max_colocated
from offramp.dgtp.policies import BLIND
from offramp.dgtp.runtime.inbox import TaskInbox
from offramp.dgtp.runtime.job import PlacedTasks
from offramp.dgtp.runtime.pacer import LEAST, STEP_S, FlowPacer
from offramp.dgtp.runtime.wire import (
    FRAME_BYTES,
    ConnectionPurpose,
    ControlFrame,
    FrameKind,
    flow_header,
    read_flow,
    send_all,
)
from offramp.workers.mailbox import PeerLostError
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.engine import execute
from offramp_sim.dgtp.setups import make_setup


class Clock:
    """Time that passes only where somebody sleeps, and a little more."""

    def __init__(self, late_s: float = 0.0) -> None:
        self.now, self.late_s = 100.0, late_s

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds + self.late_s


@pytest.mark.parametrize("late_s", [0.0, 0.003])
def test_a_flow_takes_its_bytes_over_its_rate(late_s):
    clock = Clock(late_s)
    pacer = FlowPacer(clock, clock.sleep)
    pacer.set_rate(1_000_000)
    pieces = [bytes(piece) for piece in pacer.pieces(bytes(range(256)) * 400)]
    assert b"".join(pieces) == bytes(range(256)) * 400
    assert max(map(len, pieces)) == 1_000_000 * STEP_S
    assert -1e-9 <= clock.now - 100.0 - 0.1024 <= 2 * late_s + 1e-9


def test_a_rate_counts_from_the_next_piece_on():
    clock = Clock()
    pacer = FlowPacer(clock, clock.sleep)
    pacer.set_rate(1_000_000)
    pieces = pacer.pieces(bytes(100_000))
    next(pieces)
    pacer.set_rate(10_000_000)
    assert sum(map(len, pieces)) == 95_000
    assert clock.now == pytest.approx(100 + 0.005 + 0.0095)
    pacer.set_rate(0)
    assert [len(piece) for piece in pacer.pieces(bytes(10 * LEAST))] == [10 * LEAST]


def test_frames_and_flows_come_as_they_went():
    frame = ControlFrame(FrameKind.RATE, 7, 9, 1 << 40)
    assert len(frame.pack()) == FRAME_BYTES
    assert ControlFrame.unpack(frame.pack()) == frame
    with pytest.raises(OfframpError, match="a frame of kind 99"):
        ControlFrame.unpack(b"\x63" + frame.pack()[1:])
    ours, theirs = socket.socketpair()
    send_all(ours, flow_header(3, 5) + b"bytes", "x")
    assert read_flow(theirs, "store 1") == (3, b"bytes")
    send_all(ours, flow_header(3, 1 << 33), "x")
    with pytest.raises(OfframpError, match="store 1 announces 8589934592 bytes"):
        read_flow(theirs, "store 1")
    ours.close()
    with pytest.raises(PeerLostError, match="store 1 is gone"):
        read_flow(theirs, "store 1")


@pytest.mark.parametrize(
    "greeting",
    [
        {"session": "other", "kind": "flow", "number": 1},
        {"session": "s", "kind": "shell", "number": 1},
        {"session": "s", "kind": "flow", "number": -1},
        {"session": "s", "kind": "flow"},
    ],
)
def test_other_greetings_are_refused(greeting):
    assert ConnectionPurpose.check(ConnectionPurpose("flow", 1).greeting("s"), "s") == ("flow", 1)
    with pytest.raises(OfframpError, match="greeting: field"):
        ConnectionPurpose.check(greeting, "s")


def test_an_inbox_keeps_what_comes_and_passes_on_faults():
    inbox = TaskInbox(timeout_s=0.01)
    inbox.put(("flow", 1, 2), b"x")
    inbox.expect(("flow", 1, 2))
    assert inbox.take(("flow", 1, 2)) == b"x"
    with pytest.raises(OfframpError, match=r"flow 1 2: nothing has come for 0.01 s"):
        inbox.take(("flow", 1, 2))
    inbox.fail(PeerLostError("store 0 is gone"))
    inbox.fail(PeerLostError("store 1 is gone"))
    with pytest.raises(PeerLostError, match="store 0"):
        inbox.take(("flow", 1, 3))


def test_adam_on_parts_is_adam_on_the_whole():
    torch = pytest.importorskip("torch")
    from offramp.dgtp.runtime.optimiser import FlatAdam, OptimiserState, cuts

    rng = np.random.default_rng(0)
    state = OptimiserState.initial(rng.standard_normal(101).astype(np.float32))
    gradients = [rng.standard_normal(101).astype(np.float32) for _ in range(4)]
    whole = FlatAdam(state, 0.01)
    for gradient in gradients:
        whole.step(torch.from_numpy(gradient))
    places = cuts(101, 3)
    assert places == [0, 34, 68, 101]
    for half in (gradients[:2], gradients[2:]):
        parts = [FlatAdam(state.part(begin, end), 0.01) for begin, end in pairwise(places)]
        for gradient in half:
            for part, (begin, end) in zip(parts, pairwise(places), strict=True):
                part.step(torch.from_numpy(gradient[begin:end]))
        state = OptimiserState.joined([part.state() for part in parts])
    for name in ("parameters", "mean", "square", "steps"):
        assert np.array_equal(getattr(state, name), getattr(whole.state(), name))


class World:
    """Tasks and flows that take exactly what the problem says, for a scheduler that runs by this world's clock.

    It reads the scheduler's frames, advances to what ends next and reports it, as all processes would.
    """

    def __init__(self, problem, machine, drawn) -> None:
        self.problem, self.machine, self.drawn = problem, machine, drawn
        self.now = 0.0
        self.tasks: list[tuple[float, int, int]] = []
        self.flows: dict[int, list[float]] = {}  # bytes left, rate, iteration

    def take(self, frame: ControlFrame) -> bool:
        if frame.kind is FrameKind.START_TASK:
            took = self.problem.seconds[frame.subject, self.machine[frame.subject]]
            heapq.heappush(self.tasks, (self.now + took, frame.subject, frame.iteration))
        elif frame.kind is FrameKind.START_FLOW:
            self.flows[frame.subject] = [self.drawn[frame.iteration][frame.subject], frame.amount, frame.iteration]
        elif frame.kind is FrameKind.RATE:
            self.flows[frame.subject][1] = frame.amount
        return frame.kind is FrameKind.END

    def advance(self) -> ControlFrame:
        ends = [(self.now + left / rate, edge) for edge, (left, rate, _) in self.flows.items()]
        first = min(ends, default=(float("inf"), -1))
        to = min(first[0], self.tasks[0][0] if self.tasks else float("inf"))
        for flow in self.flows.values():
            flow[0] -= flow[1] * (to - self.now)
        self.now = to
        if first[0] == to:
            _, _, iteration = self.flows.pop(first[1])
            return ControlFrame(FrameKind.FLOW_DONE, first[1], int(iteration), 1)
        _, task, iteration = heapq.heappop(self.tasks)
        return ControlFrame(FrameKind.TASK_DONE, task, iteration)


@pytest.mark.parametrize("policy", BLIND)
def test_the_scheduler_does_what_the_exact_engine_does(policy, monkeypatch):
    """One socket stands for all processes; time is the world's, so that both take the same time."""
    pytest.importorskip("torch")
    from offramp.dgtp.draws import draw
    from offramp.dgtp.runtime import scheduler as module

    problem = make_setup("testbed-products-ps").problem
    machine = max_colocated(problem, 1)
    drawn = draw(problem.graph, 3, 5)
    world = World(problem, machine, drawn)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: world.now))
    placed = PlacedTasks.of(problem, machine, np.zeros(len(problem.graph.tasks), np.int64))
    ours, theirs = socket.socketpair()
    done: list[int] = []
    job = SimpleNamespace(placed=placed, iterations=3, policy=policy)
    flow_scheduler = module.FlowScheduler(job, {0: ours}, done.append)
    idle = threading.Event()
    monkeypatch.setattr(flow_scheduler, "_send", _signalling(flow_scheduler._send, idle))
    flow_scheduler.start()
    ended = False
    while not ended:
        assert idle.wait(30)
        idle.clear()
        theirs.setblocking(False)
        frames = b""
        with contextlib.suppress(BlockingIOError):
            frames = theirs.recv(1 << 20)
        for at in range(0, len(frames), FRAME_BYTES):
            ended |= world.take(ControlFrame.unpack(frames[at : at + FRAME_BYTES]))
        if world.tasks or world.flows:
            theirs.sendall(world.advance().pack())
    flow_scheduler.join(30)
    assert flow_scheduler.fault is None
    expected = execute(problem, machine.tolist(), drawn.tolist(), BLIND[policy])
    assert flow_scheduler.times().makespan == pytest.approx(expected.makespan, rel=2e-3)
    assert done == [1, 2, 3]
    times = flow_scheduler.times()
    assert len(times.edge) == len(expected.flows)
    assert times.flow_granted == pytest.approx(drawn[times.edge_iteration, times.edge], rel=2e-3)


def _signalling(send, idle):
    def signalled():
        send()
        idle.set()

    return signalled
