# SPDX-License-Identifier: Apache-2.0
"""One run with faults at random times: a responder that is killed, an accelerator that dies, hangs or is reset."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from leo_lab import batch, program
from offramp.device import Status
from offramp.leo.native.batch import Completions
from offramp.leo.native.dataflow import Trip
from offramp.leo.native.functions import ADD
from offramp.leo.runtime.process import ResponderPlan, ResponderProcess
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.selection import Policy
from offramp.nic.process import AgentProcess

KEYS = 8
REQUESTS = 1500
ECHO_KIND, ADD_KIND = 0, 1
FLOWS = [
    [
        (Trip("echo"),),
        (Trip("echo", remote="acc"),),
        (Trip("echo", remote="other"), Trip("echo", previous=True, length=0)),
    ],
    [(Trip(ADD, once=True),), None, None],
]
_LIMIT_S = 60.0


def plan(seed: int, accelerator: str | None = None) -> ResponderPlan:
    """A responder whose accelerator fails twice, at times that the seed decides, or is another one."""
    rng = np.random.default_rng(seed)
    faults = "+".join(f"{rng.choice(['kill', 'hang', 'reset'])}@{rng.uniform(0.0, 0.4):.3f}" for _ in range(2))
    devices = {
        "acc": accelerator or f"faulty:{faults}:model:service_us=20,jitter_us=40,parallelism=4,seed={seed}",
        "other": "model:service_us=50",
    }
    return ResponderPlan("offramp.leo.runtime.service:prepare", {"longest": 64}, devices, memory_bytes=4096, rows=256)


@dataclass
class Run:
    """Findings of a run.

    Attributes:
        ended: user word and status of each request, in the order in which they ended.
        before: what each addition found.
        by_path: requests that ended well on each path.
    """

    ended: list[tuple[int, int]] = field(default_factory=list)
    before: dict[int, int] = field(default_factory=dict)
    by_path: list[int] = field(default_factory=lambda: [0, 0, 0])
    wrong: int = 0

    def take(self, done: Completions, kinds: np.ndarray) -> None:
        """Note what has ended."""
        for i in range(done.count):
            user = int(done.users[i])
            self.ended.append((user, int(done.statuses[i])))
            self.by_path[int(done.paths[i])] += 1
            if kinds[user] == ADD_KIND:
                self.before[user] = struct.unpack("<q", done.answer(i))[0] if done.lengths[i] == 8 else -1
            else:
                self.wrong += done.answer(i) != _message(user)


def _message(user: int) -> bytes:
    return struct.pack("<qq", 8 * (user % KEYS), user + 1)


@contextmanager
def started(
    seed: int, transport: str = "shm", accelerator: str | None = None
) -> Iterator[tuple[ResponderProcess, Requester]]:
    """Both sides."""
    process = ResponderProcess(plan(seed, accelerator))
    try:
        settings = RequesterSettings(
            rows=256, stride=64, transport=transport, policy=Policy.UNIFORM, seed=seed, timeout_s=2.0
        )
        requester = Requester(program(FLOWS, "ADDR"), [process], settings=settings)
        try:
            yield process, requester
        finally:
            requester.close()
    finally:
        process.close()


def trial(
    process: ResponderProcess,
    requester: Requester,
    seed: int,
    kills: int,
    agent: AgentProcess | None = None,
    count: int = REQUESTS,
) -> None:
    """Send requests while the process is killed at random places; check that all is as if nothing had happened.

    An ``agent``, which the accelerator is, is killed at a random place, too, and is back at another.
    """
    rng = np.random.default_rng(seed)
    kinds = (rng.random(count) < 0.4).astype(np.int64)

    def restart() -> None:
        process.kill()
        process.start()

    events: list[tuple[int, Callable[[], None]]] = [(place, restart) for place in rng.integers(0, count, kills)]
    if agent is not None:
        away, back = sorted(rng.integers(0, count, 2))
        events += [(away, agent.kill), (back, agent.start)]
    events.sort(key=lambda event: event[0])
    process.host.memory[:KEYS] = 0
    messages = [_message(user) for user in range(count)]
    requests = batch(messages, [user % KEYS for user in range(count)], kinds.tolist())
    users = np.arange(count)
    run, sent, limit = Run(), 0, time.monotonic() + _LIMIT_S
    while len(run.ended) < count:
        end = min(sent + int(rng.integers(1, 32)), count)
        sent += requester.admit(requests.part(sent, end), users[sent:end])
        requester.step()
        run.take(requester.collect(), kinds)
        while events and len(run.ended) >= events[0][0]:
            events.pop(0)[1]()
        assert time.monotonic() < limit, f"{count - len(run.ended)} requests have not ended"
    _check(process, run, kinds, count)


def _check(process: ResponderProcess, run: Run, kinds: np.ndarray, count: int) -> None:
    assert sorted(user for user, _ in run.ended) == list(range(count))
    assert {status for _, status in run.ended} == {Status.OK}
    assert run.wrong == 0
    for key in range(KEYS):
        order = [user for user, _ in run.ended if user % KEYS == key]
        assert order == sorted(order)
        total = 0
        for user in (u for u in order if kinds[u] == ADD_KIND):
            assert run.before[user] == total
            total += user + 1
        assert process.host.memory[key] == total


def used_again(requester: Requester, path: int) -> bool:
    """Whether requests end on a path, soon; none of them is left under way."""
    limit = time.monotonic() + 20
    sent = ended = 0
    used = False
    while (ended < sent or not used) and time.monotonic() < limit:
        if not used:
            sent += requester.admit(batch([bytes(16)], [sent % KEYS], [ECHO_KIND]), np.array([sent]))
        requester.step()
        done = requester.collect()
        ended += done.count
        used = used or bool(((done.paths == path) & (done.statuses == Status.OK)).any())
    return used and ended == sent
