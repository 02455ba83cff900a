# SPDX-License-Identifier: Apache-2.0
"""One run: a job over faults of every kind, with workers that stall and start late and a switch that restarts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.wire import SwitchGnnPacketType
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.lockstep import Channel, Lockstep, Process
from switchgnn_channel import UnrulyChannel
from switchgnn_faults import Blackout, Bursts, KindLost, LastLost, Replay, chain
from switchgnn_soak.jobs import job_of_one_switch

_FEATURES = ((1, 5, 5), (3, 33, 40))
"""Features to choose from, for each plan: at most one packet, at most two."""
_PATIENCE = 250
"""Time-outs without anything new until a run has hung."""


class Soak:
    """A job, its network and its workers, all from one seed.

    Args:
        seed: seed of every random choice.
        restarts: whether the switch may lose everything; it gets its plan back at once.

    Attributes:
        job: with its plans and ports.
        acks: whether workers acknowledge.
        restarts: turns after which the switch restarts.
    """

    def __init__(self, seed: int, *, restarts: bool = True) -> None:
        rng = self._rng = np.random.default_rng([seed, 0])
        self._seed = seed
        self._rates = rng.choice([0.0, 0.02, 0.1, 0.3], 3).tolist()  # of loss, duplication and delay
        soak_job = job_of_one_switch(seed)
        self.job, self.acks, self._vertices = soak_job.job, soak_job.acks, soak_job.vertices
        self.restarts = set(rng.integers(1, 120, rng.integers(1, 3)).tolist()) if restarts and seed % 2 else set()

    def run(self, make: Callable[[], Process]) -> Lockstep:
        """Two exchanges, the sums of both exact.

        Args:
            make: gives a fresh switch with the job's plan.

        Raises:
            AssertionError: a sum is wrong, or a worker refused what it got.
            OfframpError: the run hangs: nothing moves for a very long time.
        """
        rng, job = self._rng, self.job
        first = float(rng.choice([8, 16, 40]))
        recovery = Recovery(first, 2 * first, acks=self.acks, reupload=self.acks and bool(rng.random() < 0.5))
        stalled = (rng.random((len(job.ports), 64)) < rng.choice([0.0, 0.1, 0.4])).tolist()
        late = rng.integers(0, 20, len(job.ports)).tolist()  # the turn in which each worker starts
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
            window=int(rng.choice([2, 4, 1000])),
            up=chain(self._faults(0)),
            down=chain(self._faults(1)),
            recovery=recovery,
            patience=int(_PATIENCE * first),
            stalls=lambda worker, turn: turn < late[worker] or stalled[worker][turn // 16 % 64],
        )
        lockstep.start()
        plan = int(rng.integers(len(job.plans)))
        # After a restart every aggregator is used once more, so that none can stay open from before.
        for _ in range(2):
            self._exchange(lockstep, plan)
            plan, self.restarts = plan if self._seed % 2 else 1 - plan, set()
        assert all(e.stats.foreign == e.stats.truncated == e.stats.rejected == 0 for e in lockstep.endpoints)
        return lockstep

    def _exchange(self, lockstep: Lockstep, plan: int) -> None:
        rng = self._rng
        x = rng.integers(-(2**26), 2**26, (self._vertices, int(rng.choice(_FEATURES[plan])))).astype(np.int32)
        expected = self.job.expected(x)
        sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
        for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
            assert np.array_equal(got, expected[endpoint.boundaries[plan]]), f"wrong sums at worker {endpoint.index}"

    def _faults(self, direction: int) -> list[Channel]:
        """Loss, duplication and delay of single frames, and on two runs in three a pattern besides."""
        rng = self._rng
        loss, duplication, delay = self._rates
        seed, port = 10 * self._seed + direction, int(rng.choice(self.job.ports))
        turns, first = int(rng.integers(10, 60)), int(rng.integers(0, 100))
        patterns: list[Channel] = [
            Bursts(seed, 0.05, 20),
            LastLost(seed, 0.5),
            KindLost(SwitchGnnPacketType.DATA, port, turns, first),
            KindLost(SwitchGnnPacketType.DONE, None, turns, first),
            KindLost(
                SwitchGnnPacketType(
                    rng.choice([SwitchGnnPacketType.FETCH, SwitchGnnPacketType.RESEND, SwitchGnnPacketType.ACK])
                ),
                None,
                turns,
                first,
            ),
            Blackout(port, turns, first),
        ]
        drawn = rng.integers(9)
        replay: list[Channel] = [Replay(seed, 0.3)] if rng.random() < 0.5 else []
        return [*replay, UnrulyChannel(seed, duplication, delay, loss), *patterns[drawn : drawn + 1]]
