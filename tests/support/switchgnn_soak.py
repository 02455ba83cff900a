"""One soak run: random jobs over a network that loses, doubles, delays, with workers that stall."""

from __future__ import annotations

import numpy as np

from offramp.switch.switchgnn.recovery import Recovery
from offramp_sim.switchgnn.channel import UnrulyChannel
from offramp_sim.switchgnn.jobs import Job, random_job
from offramp_sim.switchgnn.lockstep import Lockstep


class Soak:
    """A job, its network and its workers, all from one seed.

    Attributes:
        job: a random graph with plans for features of one packet and of two.
        acks: whether workers acknowledge.
    """

    def __init__(self, seed: int) -> None:
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

    def run(self, process) -> Lockstep:
        """Three exchanges, each result exact; no aggregator open after any."""
        rng, job = self._rng, self.job
        loss, duplication, delay = rng.choice([0.0, 0.02, 0.1, 0.3], 3)
        up, down = (UnrulyChannel(self._seed + i, duplication, delay, loss) for i in range(2))
        first = float(rng.choice([4, 20, 40]))
        recovery = Recovery(first, 2 * first, acks=self.acks, reupload=self.acks and bool(rng.random() < 0.5))
        stalled = rng.random((len(job.ports), 64)) < rng.choice([0.0, 0.1, 0.4])
        late = rng.integers(0, 60, len(job.ports))  # the turn in which each worker starts
        lockstep = Lockstep(
            job.plans,
            job.ports,
            process,
            window=int(rng.choice([1, 4, 1000])),
            up=up,
            down=down,
            recovery=recovery,
            patience=int(200 * first),
            stalls=lambda worker, turn: turn < late[worker] or bool(stalled[worker, turn // 16 % 64]),
        )
        lockstep.start()
        for plan, features in [(0, 5), (1, 40), (0, 3)]:
            x = rng.integers(-(2**26), 2**26, (len(job.boundary.owner), features)).astype(np.int32)
            expected = job.expected(x)
            sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
            for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
                assert np.array_equal(got, expected[endpoint.boundaries[plan]])
        return lockstep
