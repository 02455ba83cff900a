# SPDX-License-Identifier: Apache-2.0
"""The host side of the protocol for one worker, without any transport (specification section 4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from offramp.switchgnn.exchange import require_values
from offramp.switchgnn.local_block import PlanShare
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.reception import Reception
from offramp.switchgnn.recovery import Recovery, RetryTimer
from offramp.switchgnn.stats import LinkCounts, WorkerStats
from offramp.switchgnn.transmission import Transmission
from offramp.switchgnn.uploads import Uploads
from offramp.switchgnn.wire import (
    NO_ID,
    SwitchGnnPackets,
    SwitchGnnPacketType,
    build_frames,
    is_newer,
    next_round,
    parse_frames,
)
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch

_REMEMBERED = 64  # rounds whose DONE can be said again
_FETCHES = 256
"""FETCHes that wait for their answers: more at once would come back in bursts that no queue holds."""
_SHOWN = 5  # missing vertices that an error names
_DATA, _RESEND, _FETCH, _ACK, _DONE = (
    int(kind) for kind in SwitchGnnPacketType
)  # arrays compare faster with plain numbers
_KNOWN = np.isin(np.arange(8), list(SwitchGnnPacketType))
"""Whether three bits of flags mean a type of packet, by their value."""


class SwitchGnnEndpoint:
    """The protocol of one worker: takes packets that have arrived and returns packets to send.

    Rounds are numbered from 0, the start barrier, in which nothing but DONE is sent; each later round is one
    block. GO of a round that ends an exchange may be awaited by the next exchange; until then the worker must be
    given what arrives, since others may still lack its features.

    Args:
        index: this worker.
        plans: the switch's plans, in the same order for every worker.
        recovery: settings for the recovery from loss.
        racks: leaf of each worker; empty if there is a single switch.
    """

    def __init__(
        self, index: int, plans: Sequence[Plan], recovery: Recovery | None = None, racks: Sequence[int] = ()
    ) -> None:
        self.index = index
        self.plans = list(plans)
        shares = [PlanShare(plan, index, racks) for plan in plans]
        self.boundaries = [each.boundary for each in shares]
        self.stats = WorkerStats(LinkCounts(), LinkCounts())
        self.round = 0
        self.waiting = False
        """Whether DONE was sent for this round and GO has not arrived."""
        self.progress = 0
        """Count of packets with new information."""
        self._blocks = [list(each.each_block()) for each in shares]
        self._block_id = 0
        self._plan = 0
        self._todo: list[int] = []  # blocks of the running exchange that have not begun
        self._values = np.zeros((0, 0), np.int32)
        self._sums = np.zeros((0, 0), np.int64)
        self._reception: Reception | None = None
        self._transmission: Transmission | None = None
        self._recovery = recovery or Recovery()
        self._timer = RetryTimer(self._recovery)
        self._timed = 0  # the progress that the timer has seen
        self._ahead: list[PacketBatch] = []
        self._early: list[SwitchGnnPackets] = []  # packets of this round that came before its block began here
        self._control = PacketBatch.empty()
        self._said: deque[PacketBatch] = deque(maxlen=_REMEMBERED)  # DONE of the last rounds that were finished here
        self._repeats = 0  # since something new came
        self._strayed: int | None = None  # a GO's round that can be none of this job's
        self._replies: list[PacketBatch] = []
        self._uploads: Uploads | None = None
        self._first_pass = False  # uploads are leaving for the first time
        self._fetching = False  # there may be more to fetch than was asked for
        self._unanswered = 0  # FETCHes since the last time-out

    # --- what a driver does --------------------------------------------------------------------------------

    def start(self) -> None:
        """Join the start barrier."""
        self._finish_round()

    def begin(self, plan_index: int, values: npt.NDArray[np.int32]) -> None:
        """Start an exchange of ``values``, ``(n, F)`` rows of ``boundaries[plan_index]``.

        Raises:
            OfframpError: no such plan, an array of another shape or type, an exchange that is still running.
        """
        if not self.finished:
            raise OfframpError(f"worker {self.index}: an exchange is still running")
        require_values(self.index, self.plans, self.boundaries, plan_index, values)
        self._values = np.ascontiguousarray(values)
        self._sums = np.zeros(values.shape, np.int64)
        self._plan = plan_index
        for batch in self._ahead:
            self._count_payload(self.stats.down, batch)
        self._ahead = []
        self._todo = list(range(len(self._blocks[plan_index])))
        if not self.waiting:
            self._next_block()

    @property
    def finished(self) -> bool:
        """Whether every block of the exchange is complete."""
        return not self._todo and self._reception is None

    @property
    def over(self) -> bool:
        """Whether the start, or the exchange, is complete here and everywhere."""
        return self.finished and not self.waiting

    @property
    def sums(self) -> npt.NDArray[np.int64]:
        """``(n, F)`` sums over the remote neighbours of each boundary vertex; zeros until finished."""
        return self._sums if self.finished else np.zeros_like(self._sums)

    def outgoing(self, limit: int) -> PacketBatch:
        """Up to ``limit`` frames to send now, in order; empty if there is nothing to send."""
        if self._replies:
            batch = PacketBatch.concatenate(self._replies)
            rest = batch.select(slice(limit, None))
            batch, self._replies = batch.select(slice(limit)), [rest] if len(rest) else []
        elif self._uploads:
            batch, features = self._uploads.take(limit)
            self.stats.up.add_data(batch, features)
            return batch
        else:
            self._first_pass = False
            if not len(self._control):
                return self._control
            batch, self._control = self._control, PacketBatch.empty()
        self.stats.up.count(batch)
        self._count_payload(self.stats.up, batch)
        return batch

    def incoming(self, batch: PacketBatch) -> None:
        """Process packets that arrived; invalid ones are never an error."""
        if not len(batch):
            return
        reception = self._reception
        if reception is not None and not self.waiting and (features := reception.take(batch)) >= 0:
            self.stats.down.add_data(batch, features)
            self.progress += len(batch)
            self._look_at(reception)
            return
        self.stats.down.count(batch)
        if self.finished:
            self._ahead.append(batch)  # of the next exchange, if of any: how wide it is, begin() will say
        else:
            self._count_payload(self.stats.down, batch)
        packets = parse_frames(batch)
        self.stats.foreign += packets.foreign
        self.stats.truncated += packets.truncated
        known = _KNOWN[packets.kind]
        from_switch = packets.kind == _DONE
        rest = known & ~from_switch
        self.stats.foreign += len(packets) - int(np.count_nonzero(known))
        if from_switch.any():
            self._take_go(packets.select(from_switch))
        if rest.any():
            self._take_round(packets.select(rest))

    def tick(self, now_s: float) -> None:
        """Repeat what may have been lost if nothing new has arrived for a while; times are on the caller's clock."""
        if self.progress != self._timed or self._first_pass:
            self._timed = self.progress
            self._repeats = 0
            self._timer.restart()
        repeat, fetch = self._timer.fires(now_s)
        if repeat:
            self.repeat_done()
            self._repeats = min(self._repeats + 1, _REMEMBERED)
        if self._replies or self._transmission is None or self._reception is None:
            return  # what was asked before is still to leave, or nothing is missing
        if fetch:
            self._uploads = None  # to repeat them has not helped
            self._unanswered = 0
            self._fetch(self._reception, anew=True)
            return
        if repeat and self._recovery.reupload and not self._uploads:
            self._uploads = self._transmission.silent_uploads()
        if self._fetching and 2 * self._unanswered <= _FETCHES:
            self._fetch(self._reception, anew=False)

    @property
    def due_s(self) -> float | None:
        """The time at which :meth:`tick` has something to do next if nothing arrives; None while that is unknown."""
        return None if self.progress != self._timed else self._timer.due_s

    def repeat_done(self) -> None:
        """Send DONE again, for this round while GO is missing, and for the previous one.

        Repeats change nothing, unless the switch has lost its registers: then the rounds go on from there. It may have
        taken up an older round from a DONE that was long on its way; so what does not help goes back further each time.
        """
        if not len(self._control):
            rounds = min((1 + self.waiting) << max(self._repeats - 1, 0), len(self._said))
            self._control = PacketBatch.concatenate(list(self._said)[-rounds:] if rounds else [])

    def state(self) -> str:
        """Description of what this worker waits for, for an error message."""
        if self._reception is not None:
            missing = self._reception.missing_vertices()
            some = ", ".join(map(str, missing[:_SHOWN].tolist())) + (", …" if len(missing) > _SHOWN else "")
            return (
                f"block {self._block_id}, round {self.round}: {len(missing)} of "
                f"{len(self._reception.block.vertices)} results are missing (of vertices {some})"
            )
        if self._strayed is not None:
            return (
                f"round {self.round}: the switch is in round {self._strayed}, so this worker was restarted, "
                "or the switch's program was not pushed anew for this job"
            )
        if self.round == 0:
            return "round 0: no GO, so not every worker has joined"
        return f"block {self._block_id}, round {self.round}: no GO, so not every worker has finished the round"

    # --- rounds --------------------------------------------------------------------------------------------

    def _take_go(self, packets: SwitchGnnPackets) -> None:
        rounds = packets.field("round")[packets.field("src_id") == NO_ID]
        self.stats.foreign += len(packets) - len(rounds)
        # No round ends without this worker's DONE: a GO that skips one is another job's, or this worker was restarted.
        expected = next_round(self.round)
        strays = rounds[is_newer(rounds, expected)]
        self.stats.rejected += len(strays)
        if self.waiting and len(strays):
            self._strayed = int(strays[-1])
        news = self.waiting and bool((rounds == expected).any())
        self.stats.duplicates += len(rounds) - len(strays) - news
        if news:
            self._enter(expected)

    def _take_round(self, packets: SwitchGnnPackets) -> None:
        rounds = packets.field("round")
        # Nothing of a round can leave the switch before GO did: it may only have been overtaken.
        if self.waiting and bool((rounds == next_round(self.round)).any()):
            self._enter(next_round(self.round))
        current = rounds == self.round
        if self.waiting:  # the sums are here, but others may still ask for features
            current &= (packets.kind == _FETCH) | (packets.kind == _ACK)
        self.stats.stale += len(packets) - int(np.count_nonzero(current))
        if not current.any():
            return
        packets = packets.select(current)
        if self._reception is None and not self.waiting:
            self._early.append(packets)
        else:
            self._serve(packets)

    def _serve(self, packets: SwitchGnnPackets) -> None:
        """Process packets of this round, whose block has begun here."""
        kind = packets.kind
        if self._transmission is not None:
            if (fetch := kind == _FETCH).any():
                self._reply(self._transmission.answer(packets.select(fetch)))
            if (ack := kind == _ACK).any():
                acks = packets.select(ack)
                self.stats.marks += int(acks.field("ecn").sum())
                self.progress += self._transmission.acknowledge(acks)
        resend = kind == _RESEND
        self._unanswered = max(0, self._unanswered - int(np.count_nonzero(resend)))
        data = (kind == _DATA) | resend
        if self._reception is not None and data.any():
            self._collect(self._reception, packets.select(data))

    def _count_payload(self, link: LinkCounts, batch: PacketBatch) -> None:
        link.count_payload(batch, self._sums.shape[1], self.plans[self._plan].lanes)

    def _reply(self, batch: PacketBatch) -> None:
        if len(batch):
            self._replies.append(batch)

    def _fetch(self, reception: Reception, *, anew: bool) -> None:
        fields = reception.missing_features(_FETCHES - self._unanswered, anew=anew)
        n = len(np.atleast_1d(fields["src_id"]))
        fixed = {"block_id": self._block_id, "is_fetch": 1, "round": self.round}
        self._fetching = n > 0
        self._unanswered += n
        self.stats.fetches += n
        self._reply(build_frames(self.index, {**fields, **fixed}, n))

    def _enter(self, round_: int) -> None:
        self._strayed = None
        self.round = round_
        self.waiting = False
        self.progress += 1
        self._control = PacketBatch.empty()
        self._replies = []
        self._transmission = None
        if self._todo:
            self._next_block()

    def _next_block(self) -> None:
        if not self._todo:
            return
        plan = self.plans[self._plan]
        block = self._blocks[self._plan][self._todo.pop(0)]
        self._block_id = block.block_id
        shape = plan.chunks, plan.lanes
        reception = self._reception = Reception(block, *shape, self.round, self._sums, self.stats)
        self._fetching, self._unanswered = False, 0
        self._transmission = Transmission(self.index, block, self._values, *shape, self.round, self.stats)
        self._uploads = self._transmission.uploads()
        self._first_pass = True
        early, self._early = self._early, []
        for packets in early:
            self._serve(packets)
        self._check_complete(reception)

    def _collect(self, reception: Reception, packets: SwitchGnnPackets) -> None:
        self.progress += reception.accept(packets)
        self._look_at(reception)

    def _look_at(self, reception: Reception) -> None:
        """Acknowledge sums that a reception has completed, or count their marks of congestion."""
        news = reception.finished_since()
        if self._recovery.acks:
            self._acknowledge(reception.acknowledgements(news))
        else:
            self.stats.marks += reception.marks(news)
        self._check_complete(reception)

    def _acknowledge(self, news: dict[str, npt.ArrayLike]) -> None:
        fixed = {"dst_id": NO_ID, "block_id": self._block_id, "is_ack": 1, "round": self.round}
        self._reply(build_frames(self.index, {**news, **fixed}, len(np.atleast_1d(news["src_id"]))))

    def _check_complete(self, reception: Reception) -> None:
        # The sums may be complete before the last upload has left: other workers still need it.
        if not reception.complete or self._reception is None:
            return
        self._reception = None
        self.stats.rounds += 1
        self._finish_round()

    def _finish_round(self) -> None:
        self.waiting = True
        self._early = []
        fields = {
            "src_id": self.index,
            "block_id": self._block_id,
            "is_ack": 1,
            "is_fetch": 1,
            "round": self.round,
        }
        self._control = build_frames(self.index, fields, 1)
        self._said.append(self._control)
