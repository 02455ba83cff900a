"""One soak run: a random job over faults of every kind, with workers that stall and a switch that restarts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from offramp.switch.switchgnn.recovery import Recovery
from offramp.wire.batch import PacketBatch
from offramp.wire.switchgnn import Kind
from offramp_sim.switchgnn.channel import UnrulyChannel
from offramp_sim.switchgnn.faults import Blackout, Bursts, KindLost, LastLost, Replay, chain
from offramp_sim.switchgnn.jobs import Job, random_job
from offramp_sim.switchgnn.lockstep import Channel, Lockstep

EXCHANGES = [(0, 5), (1, 40), (0, 3), (1, 33)]
"""Plan and features of each; the switch does not restart in the last two, which use every aggregator once more."""


class Soak:
    """A job, its network and its workers, all from one seed.

    Attributes:
        job: a random graph with plans for features of one packet and of two.
        acks: whether workers acknowledge.
        restarts: turns after which the switch loses everything; it gets its plan back at once.
    """

    def __init__(self, seed: int, *, restarts: bool = True) -> None:
        rng = np.random.default_rng(seed)
        self._rng, self._seed = rng, seed
        vertices = int(rng.integers(4, 15))
        self.job: Job = random_job(
            seed,
            vertices=vertices,
            edges=2 * vertices,
            workers=int(rng.integers(2, 6)),
            limit=int(rng.integers(2, 15)),
            features=(5, 40),
            order=str(rng.choice(["gamr", "random"])),
        )
        self.acks = bool(rng.random() < 0.5)
        self.restarts = set(rng.integers(1, 300, rng.integers(0, 4)).tolist()) if restarts else set()

    def run(self, make: Callable[[], Callable[[PacketBatch], PacketBatch]]) -> Lockstep:
        """All exchanges, each result exact. ``make`` gives a fresh switch with the job's plan."""
        rng, job = self._rng, self.job
        network = tuple(rng.choice([0.0, 0.02, 0.1, 0.3], 3))
        up, down = (chain(self._faults(direction, *network)) for direction in range(2))
        first = float(rng.choice([8, 16, 32]))
        recovery = Recovery(first, 2 * first, acks=self.acks, reupload=self.acks and bool(rng.random() < 0.5))
        stalled = rng.random((len(job.ports), 64)) < rng.choice([0.0, 0.1, 0.4])
        late = rng.integers(0, 60, len(job.ports))  # the turn in which each worker starts
        switch = make()

        def process(batch: PacketBatch) -> PacketBatch:
            nonlocal switch
            if due := {turn for turn in self.restarts if turn <= lockstep.turn}:
                self.restarts -= due
                switch = make()
            return switch(batch)

        lockstep = Lockstep(
            job.plans,
            job.ports,
            process,
            window=int(rng.choice([1, 4, 1000])),
            up=up,
            down=down,
            recovery=recovery,
            patience=int(1000 * first),
            stalls=lambda worker, turn: turn < late[worker] or bool(stalled[worker, turn // 16 % 64]),
        )
        lockstep.start()
        for number, (plan, features) in enumerate(EXCHANGES):
            if number == 2:
                self.restarts.clear()
            x = rng.integers(-(2**26), 2**26, (len(job.boundary.owner), features)).astype(np.int32)
            expected = job.expected(x)
            sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
            for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
                assert np.array_equal(got, expected[endpoint.boundaries[plan]])
        return lockstep

    def _faults(self, direction: int, loss: float, duplication: float, delay: float) -> list[Channel]:
        """Loss, duplication and delay of single frames, and on two runs in three a pattern besides."""
        rng = self._rng
        seed, port = 10 * self._seed + direction, int(rng.choice(self.job.ports))
        turns, first = int(rng.integers(10, 60)), int(rng.integers(0, 100))
        patterns: list[list[Channel]] = [
            [],
            [],
            [],
            [Bursts(seed, 0.05, 20)],
            [LastLost(seed, 0.5)],
            [KindLost(Kind.DATA, port, turns, first)],
            [KindLost(Kind.DONE, None, turns, first)],
            [KindLost(Kind(rng.choice([Kind.FETCH, Kind.RESEND, Kind.ACK])), None, turns, first)],
            [Blackout(port, turns, first)],
        ]
        replay: list[Channel] = [Replay(seed, 0.3)] if rng.random() < 0.5 else []
        return [*replay, UnrulyChannel(seed, duplication, delay, loss), *patterns[rng.integers(len(patterns))]]
