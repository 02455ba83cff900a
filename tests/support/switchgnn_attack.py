# SPDX-License-Identifier: Apache-2.0
"""A job under attack: frames forged, replayed and made up come in by ports that may not send them.

The attacker sees all that moves. It sends before the real frame comes, from ports of nobody, and from ports of workers
in the names of others. Sums, what leaves, and the turn in which each exchange ends must be those of the same job left
in peace. Blind to a worker that lies in its own name, which no switch can tell from an honest one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from offramp.switch_packets import PREFIX_BYTES
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.wire import LANES, NO_ID, SHORT_FRAME_BYTES, SwitchGnnPacketType, build_frames
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import GraphPlans, random_job
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_channel import UnrulyChannel

Process = Callable[[PacketBatch], PacketBatch]
Forgery = tuple[int, bytes]
_REMEMBERED = 200
_A_TURN = 50


@dataclass
class Attacker:
    """Stands before a switch and adds to what arrives.

    Attributes:
        job_ports: those with a worker behind them.
        foreign_ports: those without.
        budget: frames that it still sends.
        sent: frames that it has sent.
    """

    process: Process
    rng: np.random.Generator
    job_ports: Sequence[int]
    foreign_ports: Sequence[int]
    budget: int
    sent: int = 0
    seen: list[Forgery] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=list)

    def __call__(self, batch: PacketBatch) -> PacketBatch:
        """Frames that leave; none may leave because of a forgery."""
        self.attack(list(batch), _A_TURN)
        out = self.process(batch)
        self.seen = [*self.seen, *batch][-_REMEMBERED:]
        self.replies = [*self.replies, *out.frames()][-_REMEMBERED:]
        return out

    def attack(self, coming: list[Forgery], most: int) -> None:
        """Send forgeries of what comes and of what was."""
        forged = [self._forge(coming) for _ in range(min(self.budget, most))]
        self.budget -= len(forged)
        self.sent += len(forged)
        if forged:
            answers = list(self.process(PacketBatch.of(forged)))
            assert not answers, f"the switch answers a stranger: {answers[0][1].hex()}"

    def _forge(self, coming: list[Forgery]) -> Forgery:
        rng = self.rng
        known = [*coming, *self.seen]
        kind = int(rng.integers(6))
        if kind == 0 or not known:
            return self._foreign(), self._made_up()
        if kind == 1 and self.replies:
            return self._foreign(), self.replies[rng.integers(len(self.replies))]  # RESULT, GO, RESEND as they left
        port, frame = known[rng.integers(len(coming))] if coming and kind < 4 else known[rng.integers(len(known))]
        others = [p for p in self.job_ports if p != port]
        source = int(rng.choice(others)) if others and rng.random() < 0.5 else self._foreign()
        return source, self._altered(frame)

    def _foreign(self) -> int:
        return int(self.rng.choice(self.foreign_ports))

    def _altered(self, frame: bytes) -> bytes:
        """The same, or with another payload, count, chunk or round; of the same worker in any case."""
        rng, altered = self.rng, bytearray(frame)
        what = int(rng.integers(4))
        if what == 1 and len(altered) > SHORT_FRAME_BYTES:
            altered[SHORT_FRAME_BYTES:] = rng.bytes(len(altered) - SHORT_FRAME_BYTES)
        elif what == 2:
            altered[PREFIX_BYTES + 10 : PREFIX_BYTES + 12] = rng.bytes(2)  # count
        elif what == 3:
            altered[PREFIX_BYTES + 13 : PREFIX_BYTES + 16] = rng.bytes(3)  # chunk and round
        return bytes(altered)

    def _made_up(self) -> bytes:
        rng = self.rng
        if rng.random() < 0.3:
            return rng.bytes(int(rng.integers(0, 200)))
        kind = int(
            rng.choice(
                [
                    SwitchGnnPacketType.DATA,
                    SwitchGnnPacketType.RESEND,
                    SwitchGnnPacketType.FETCH,
                    SwitchGnnPacketType.ACK,
                    SwitchGnnPacketType.DONE,
                    0b101,
                    0b111,
                ]
            )
        )
        fields = {
            "src_id": int(rng.choice([NO_ID, *range(14)])),
            "dst_id": int(rng.choice([NO_ID, *range(14)])),
            "block_id": int(rng.integers(110)),
            "count": int(rng.integers(5)),
            "is_ack": kind >> 2,
            "is_fetch": kind >> 1 & 1,
            "resend": kind & 1,
            "level": int(rng.integers(4)),
            "chunk_id": int(rng.integers(3)),
            "round": int(rng.integers(12)),
        }
        lanes = rng.integers(-(2**31), 2**31, (1, LANES)).astype(np.int32)
        return next(
            build_frames(
                0, fields, 1, lanes if kind in (SwitchGnnPacketType.DATA, SwitchGnnPacketType.RESEND) else None
            ).frames()
        )


def attacked_job(seed: int) -> GraphPlans:
    """A small random job, with features of one packet and of two."""
    rng = np.random.default_rng(seed)
    vertices = int(rng.integers(6, 12))
    return random_job(
        seed,
        vertices=vertices,
        edges=2 * vertices,
        workers=int(rng.integers(2, 6)),
        limit=int(rng.integers(3, 15)),
        features=(5, 40),
    )


def turns(
    seed: int,
    job: GraphPlans,
    process: Process,
    ports: Sequence[int],
    *,
    acks: bool,
    racks: Sequence[int] = (),
    busy: Callable[[], bool] = lambda: False,
) -> list[int]:
    """The turn in which each exchange ends; each result is exact."""
    rng = np.random.default_rng(seed)
    loss = float(rng.choice([0.0, 0.0, 0.05]))
    up, down = (UnrulyChannel(2 * seed + i, loss, loss, loss) for i in range(2))
    recovery = Recovery(10, 20, acks=acks, reupload=acks)
    plans: list[Plan] = job.plans
    lockstep = Lockstep(
        plans, ports, process, window=4, up=up, down=down, recovery=recovery, racks=racks, busy=busy, patience=4000
    )
    lockstep.start()
    ended = [lockstep.turn]
    for plan, features in [(0, 5), (1, 40)]:
        x = rng.integers(-(2**26), 2**26, (len(job.boundary.owner), features)).astype(np.int32)
        sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
        for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
            assert np.array_equal(got, job.expected(x)[endpoint.boundaries[plan]])
        ended.append(lockstep.turn)
    return ended
