# SPDX-License-Identifier: Apache-2.0
"""Random programs of ``torch.distributed``: steps that every rank draws from a seed and plays on any backend.

All values are small integers, so that sums are exact in every order, and each tensor's values follow from the step and
the rank. A player that is told to be ``plain`` lays all tensors out contiguously and divides sums where a mean is
asked for: what gloo itself refuses or gets wrong (docs/torch.md).
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as F  # noqa: N812

NUMBERS: Final = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8")
OTHERS: Final = (
    *("bool", "complex64", "uint16", "uint32", "uint64"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
)
REFUSED: Final = ("int16",)
"""Numbers that gloo does not sum: its barrier behind an asynchronous sum fails on some ranks, and waits on others."""
SHAPES: Final = ((), (0,), (1,), (7,), (2, 3), (5, 4, 3), (64,), (300,), (3, 1000), (20_000,))
LAYOUTS: Final = ("plain", "plain", "transposed", "gaps", "offset")
OPERATIONS: Final = ("SUM", "SUM", "SUM", "AVG", "MAX", "MIN", "PRODUCT")
DEATHS: Final = ("kill", "exit", "raise", "signal")
"""How a rank ends in the middle."""
KINDS: Final = {
    "all_reduce": 8, "reduce": 2, "broadcast": 2, "all_gather": 2, "all_gather_into_tensor": 3, "gather": 1,
    "scatter": 1, "reduce_scatter": 2, "reduce_scatter_tensor": 3, "all_to_all_single": 4, "all_to_all": 1,
    "send": 3, "exchange": 3, "any": 2, "batch": 2, "barrier": 3, "monitored_barrier": 1, "coalesced": 2,
    "all_gather_object": 1, "broadcast_object": 1, "functional": 3, "new_group": 2, "split": 1, "leave": 1, "wait": 4,
}  # fmt: skip
"""Kinds of steps, and how often each is drawn."""


@dataclass(frozen=True)
class Step:
    """One step of a program, the same on every rank.

    Attributes:
        number: its place in the program.
        kind: a name of :data:`KINDS`.
        group: index of the group, of which 0 is the default one.
        dtype, shape, operation: type and shape of its tensors, and operation of a reduction.
        root: rank in the group, or an amount of shift.
        asynchronous: whether it is waited for later.
        seed: seed of what ranks draw for themselves, such as strides and splits.
        ranks: ranks of a new group, in the group that it is made of.
    """

    number: int
    kind: str
    group: int
    dtype: str
    shape: tuple[int, ...]
    operation: str
    root: int
    asynchronous: bool
    seed: int
    ranks: tuple[int, ...] = ()


def steps_of(seed: int, size: int) -> list[Step]:
    """A program for so many ranks; groups are numbered in the order in which they are made."""
    rng = random.Random(seed)
    groups = [tuple(range(size))]
    gone: set[int] = set()
    steps = []
    for number in range(rng.randint(3, 14)):
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        at = rng.choice([k for k in range(len(groups)) if k not in gone])
        if kind in ("new_group", "monitored_barrier"):
            at = 0  # all ranks make it together
        if kind == "leave" and at == 0:
            kind = "barrier"
        ranks: tuple[int, ...] = ()
        if kind in ("new_group", "split"):
            ranks = tuple(sorted(rng.sample(range(len(groups[at])), rng.randint(1, len(groups[at])))))
            groups.append(tuple(groups[at][rank] for rank in ranks))
        if kind == "leave":
            gone.add(at)
        shape, dtype, operation = rng.choice(SHAPES), rng.choice(NUMBERS), rng.choice(OPERATIONS)
        if rng.random() < 0.3:
            dtype = rng.choice(OTHERS)
        if dtype == "bool" and operation == "AVG":
            operation = "SUM"  # gloo's error for the other comes with a later barrier only
        steps.append(
            Step(
                number,
                kind,
                at,
                dtype,
                shape,
                operation,
                rng.randrange(len(groups[at])),
                rng.random() < 0.4 and dtype in NUMBERS and dtype not in REFUSED,
                rng.randrange(1 << 30),
                ranks,
            )
        )
    return steps


def values_of(step: Step, rank: int, shape: tuple[int, ...], salt: int = 0) -> torch.Tensor:
    """Integers from 0 to 4, or 0 and 1 of bool, of a type that the step says."""
    count = math.prod(shape)
    values = (torch.arange(count) * 3 + 7 * rank + step.number + 5 * salt) % (2 if step.dtype == "bool" else 5)
    return values.to(getattr(torch, step.dtype)).reshape(shape)


def laid_out(values: torch.Tensor, layout: str) -> torch.Tensor:
    """The values in memory of another order, with gaps, or in the midst of other memory."""
    if layout == "transposed" and values.dim() > 1:
        return values.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "gaps" and values.dim():
        spread = values.new_zeros((*values.shape[:-1], 2 * values.shape[-1]))
        spread[..., ::2] = values
        return spread[..., ::2]
    if layout == "offset":
        room = values.new_zeros(values.numel() + 3)
        room[3:] = values.reshape(-1)
        return room[3:].view(values.shape)
    return values.clone()


LATE: Final = ("reduce_scatter", "reduce_scatter_tensor", "exchange", "batch")
"""Kinds whose results a barrier does not wait for: messages, and what gloo ends in its ``wait`` only."""


def _tag(step: Step) -> int:
    """Tag of the step's messages, beyond those that gloo's monitored barriers take: the numbers of its collectives."""
    return 1000 + step.number


@dataclass(eq=False)
class _Begun:
    """A step that is waited for later, and what to do then."""

    step: Step
    work: Any
    end: Callable[[], None]


@dataclass
class Player:
    """Plays a program on this rank, in the default group that there is.

    Attributes:
        plain: whether it does without strides and means.
        timeout: timeout of the groups that it makes; PyTorch's own would be half an hour.
        death: how this rank ends at which step, if it does.
        expected: results of the same program elsewhere; the program ends with the first refusal that is not there.
        results: what each step has come to, by its number and a word: a digest of values, or ``refused``.
        lines: messages of what was refused or failed, by the step's number.
        ended: whether it has ended with a refusal.
    """

    plain: bool
    timeout: timedelta
    death: tuple[str, int] | None = None
    expected: dict[str, str] | None = None
    results: dict[str, str] = field(default_factory=dict)
    lines: dict[int, str] = field(default_factory=dict)
    ended: bool = False
    _groups: list[Any] = field(default_factory=list)
    _members: list[tuple[int, ...]] = field(default_factory=list)
    _pending: list[_Begun] = field(default_factory=list)

    def play(self, steps: list[Step]) -> None:
        """Play all steps; what was begun and not waited for is waited for at the end."""
        self._groups, self._members = [dist.group.WORLD], [tuple(range(dist.get_world_size()))]
        for step in steps:
            if self.death is not None and self.death[1] == step.number:
                _die(self.death[0])
            if dist.get_rank() not in self._members[step.group] and step.kind != "new_group":
                if step.kind == "split":
                    self._note(step, None)
                continue
            rng = random.Random(step.seed + 1009 * dist.get_rank())
            try:
                getattr(self, f"_{step.kind}")(step, rng)
            except (RuntimeError, ValueError, TypeError) as error:
                self._refused(step.number, error)
            if self.ended:
                return
        self._wait_for(list(self._pending))

    # --- what steps share ------------------------------------------------------------------------------------

    def _rank(self, step: Step) -> int:
        return self._members[step.group].index(dist.get_rank())

    def _size(self, step: Step) -> int:
        return len(self._members[step.group])

    def _tensor(self, step: Step, rng: random.Random, rank: int, shape: tuple[int, ...], salt: int = 0) -> torch.Tensor:
        layout = rng.choice(LAYOUTS)
        values = values_of(step, rank, shape, salt)
        return values if self.plain else laid_out(values, layout)

    def _empty(self, step: Step, rng: random.Random, shape: tuple[int, ...]) -> torch.Tensor:
        return self._tensor(step, rng, 99, shape)

    def _keep(self, step: Step, word: str, *tensors: torch.Tensor) -> None:
        raw = b"".join(_octets(each) for each in tensors)
        self.results[f"{step.number} {step.kind} {word}"] = hashlib.blake2b(raw, digest_size=6).hexdigest()

    def _reduced(self, step: Step) -> Any:
        name = "SUM" if self.plain and step.operation == "AVG" else step.operation
        return getattr(dist.ReduceOp, name)

    def _divide(self, step: Step, tensor: torch.Tensor) -> None:
        if self.plain and step.operation == "AVG":
            size = self._size(step)
            if step.dtype == "bool":
                raise ValueError("a mean of bool")
            parts = (tensor.real, tensor.imag) if tensor.is_complex() else (tensor,)
            for part in parts:
                part.div_(size, rounding_mode=None if part.is_floating_point() else "trunc")

    def _ended(self, step: Step, work: Any, end: Callable[[], None]) -> None:
        """End a step now, or later where it is asynchronous."""
        if step.asynchronous and work is not None:
            self._pending.append(_Begun(step, work, end))
            return
        if work is not None:
            work.wait()
        end()

    def _wait_for(self, chosen: list[_Begun], *, there: bool = False) -> None:
        """Wait for works; if they must be over already (``there``), for errors only."""
        for each in chosen:
            self._pending.remove(each)
            number, work, end = each.step.number, each.work, each.end
            try:
                if there:
                    end()
                work.wait()
                if not there:
                    end()
            except (RuntimeError, ValueError, TypeError) as error:
                self._refused(number, error)
                if self.ended:
                    return

    def _refused(self, number: int, error: Exception) -> None:
        for each in [name for name in self.results if name.startswith(f"{number} ")]:
            del self.results[each]
        self.results[f"{number} "] = "refused"
        self.lines[number] = str(error)
        self.ended = self.expected is not None and self.expected.get(f"{number} ") != "refused"

    # --- collectives -----------------------------------------------------------------------------------------

    def _all_reduce(self, step: Step, rng: random.Random) -> None:
        mine = self._tensor(step, rng, self._rank(step), step.shape)
        work = dist.all_reduce(mine, self._reduced(step), self._groups[step.group], async_op=True)

        def end() -> None:
            self._divide(step, mine)
            self._keep(step, "", mine)

        self._ended(step, work, end)

    def _reduce(self, step: Step, rng: random.Random) -> None:
        mine = self._tensor(step, rng, self._rank(step), step.shape)
        op, group = self._reduced(step), self._groups[step.group]
        work = dist.reduce(mine, op=op, group=group, group_dst=step.root, async_op=True)

        def end() -> None:
            if self._rank(step) == step.root:
                self._divide(step, mine)
                self._keep(step, "", mine)

        self._ended(step, work, end)

    def _broadcast(self, step: Step, rng: random.Random) -> None:
        mine = self._tensor(step, rng, self._rank(step), step.shape)
        work = dist.broadcast(mine, group=self._groups[step.group], group_src=step.root, async_op=True)
        self._ended(step, work, lambda: self._keep(step, "", mine))

    def _all_gather(self, step: Step, rng: random.Random) -> None:
        outputs = [self._empty(step, rng, step.shape) for _ in range(self._size(step))]
        mine = self._tensor(step, rng, self._rank(step), step.shape)
        work = dist.all_gather(outputs, mine, self._groups[step.group], async_op=True)
        self._ended(step, work, lambda: self._keep(step, "", *outputs))

    def _all_gather_into_tensor(self, step: Step, rng: random.Random) -> None:
        shape = step.shape or (1,)
        output = self._empty(step, rng, (self._size(step) * shape[0], *shape[1:]))
        mine = self._tensor(step, rng, self._rank(step), shape)
        work = dist.all_gather_into_tensor(output, mine, self._groups[step.group], async_op=True)
        self._ended(step, work, lambda: self._keep(step, "", output))

    def _gather(self, step: Step, rng: random.Random) -> None:
        root = self._rank(step) == step.root
        outputs = [self._empty(step, rng, step.shape) for _ in range(self._size(step))] if root else None
        mine = self._tensor(step, rng, self._rank(step), step.shape)
        group = self._groups[step.group]
        work = dist.gather(mine, outputs, group=group, group_dst=step.root, async_op=True)
        self._ended(step, work, lambda: self._keep(step, "", *(outputs or [])))

    def _scatter(self, step: Step, rng: random.Random) -> None:
        root = self._rank(step) == step.root
        size = self._size(step)
        inputs = [self._tensor(step, rng, k, step.shape, 1) for k in range(size)] if root else None
        mine = self._empty(step, rng, step.shape)
        group = self._groups[step.group]
        work = dist.scatter(mine, inputs, group=group, group_src=step.root, async_op=True)
        self._ended(step, work, lambda: self._keep(step, "", mine))

    def _reduce_scatter(self, step: Step, rng: random.Random) -> None:
        inputs = [self._tensor(step, rng, self._rank(step), step.shape, k) for k in range(self._size(step))]
        mine = self._empty(step, rng, step.shape)
        work = dist.reduce_scatter(mine, inputs, self._reduced(step), self._groups[step.group], async_op=True)

        def end() -> None:
            self._divide(step, mine)
            self._keep(step, "", mine)

        self._ended(step, work, end)

    def _reduce_scatter_tensor(self, step: Step, rng: random.Random) -> None:
        shape = step.shape or (1,)
        mine = self._empty(step, rng, shape)
        values = self._tensor(step, rng, self._rank(step), (self._size(step) * shape[0], *shape[1:]))
        work = dist.reduce_scatter_tensor(mine, values, self._reduced(step), self._groups[step.group], async_op=True)

        def end() -> None:
            self._divide(step, mine)
            self._keep(step, "", mine)

        self._ended(step, work, end)

    def _all_to_all_single(self, step: Step, rng: random.Random) -> None:
        size, rank, group = self._size(step), self._rank(step), self._groups[step.group]
        rest = step.shape[1:]
        table = random.Random(step.seed)
        rows = [[table.randint(0, 3) for _ in range(size)] for _ in range(size)]
        if table.random() < 0.5:
            rows = [[2] * size for _ in range(size)]
        out, into = rows[rank], [row[rank] for row in rows]
        given = self._tensor(step, rng, rank, (sum(out), *rest))
        output = self._empty(step, rng, (sum(into), *rest))
        even = len({each for row in rows for each in row}) == 1
        splits = (None, None) if even else (into, out)
        work = dist.all_to_all_single(output, given, *splits, group=group, async_op=True)
        self._ended(step, work, lambda: self._keep(step, "", output))

    def _all_to_all(self, step: Step, rng: random.Random) -> None:
        size, rank = self._size(step), self._rank(step)
        inputs = [self._tensor(step, rng, rank, step.shape, k) for k in range(size)]
        outputs = [self._empty(step, rng, step.shape) for _ in range(size)]
        work = dist.all_to_all(outputs, inputs, self._groups[step.group], async_op=True)
        self._ended(step, work, lambda: self._keep(step, "", *outputs))

    def _coalesced(self, step: Step, rng: random.Random) -> None:
        tensors = [self._tensor(step, rng, self._rank(step), shape, k) for k, shape in enumerate((step.shape, (3,)))]
        if step.root == 0:
            outputs = [[self._empty(step, rng, each.shape) for each in tensors] for _ in range(self._size(step))]
            work = dist.all_gather_coalesced(outputs, tensors, self._groups[step.group], async_op=True)
            self._ended(step, work, lambda: self._keep(step, "", *(each for row in outputs for each in row)))
            return
        options = dist.AllreduceCoalescedOptions()
        options.reduceOp = dist.ReduceOp.SUM
        work = self._groups[step.group].allreduce_coalesced(tensors, options)
        self._ended(step, work, lambda: self._keep(step, "", *tensors))

    def _functional(self, step: Step, rng: random.Random) -> None:
        group, size = self._groups[step.group], self._size(step)
        shape = step.shape or (1,)
        mine = self._tensor(step, rng, self._rank(step), (size * shape[0], *shape[1:]))
        which = step.seed % 4
        if which == 0:
            out = F.all_reduce(mine, "sum", group)
        elif which == 1:
            out = F.all_gather_tensor(mine, 0, group)
        elif which == 2:
            out = F.reduce_scatter_tensor(mine, "sum", 0, group)
        else:
            out = F.all_to_all_single(mine, None, None, group)
        self._keep(step, "", out + 0 if step.dtype in NUMBERS else out.clone())

    # --- messages --------------------------------------------------------------------------------------------

    def _send(self, step: Step, rng: random.Random) -> None:
        """One rank sends to the next, which waits for it."""
        size, rank, group = self._size(step), self._rank(step), self._groups[step.group]
        source, target = step.root, (step.root + 1) % size
        if source == target:
            return
        if rank == source:
            given = self._tensor(step, rng, rank, step.shape)
            dist.send(given, group=group, group_dst=target, tag=_tag(step))
        elif rank == target:
            mine = self._empty(step, rng, step.shape)
            dist.recv(mine, group=group, group_src=source, tag=_tag(step))
            self._keep(step, "", mine)

    def _exchange(self, step: Step, rng: random.Random) -> None:
        """Every rank sends to one at a distance and receives from one."""
        size, rank, group = self._size(step), self._rank(step), self._groups[step.group]
        if step.root == 0:
            return
        given, mine = self._tensor(step, rng, rank, step.shape), self._empty(step, rng, step.shape)
        to, source = (rank + step.root) % size, (rank - step.root) % size
        works = [
            dist.isend(given, group=group, group_dst=to, tag=_tag(step)),
            dist.irecv(mine, group=group, group_src=source, tag=_tag(step)),
        ]
        if rng.random() < 0.5:
            works.reverse()
        self._ended(step, _Several(works), lambda: self._keep(step, "", mine))

    def _any(self, step: Step, rng: random.Random) -> None:
        """One rank receives from all others, in whatever order they send; gloo fails at nothing at all."""
        shape = step.shape if math.prod(step.shape) else (1,)
        size, rank, group = self._size(step), self._rank(step), self._groups[step.group]
        if rank != step.root:
            given = self._tensor(step, rng, rank, shape)
            dist.send(given, group=group, group_dst=step.root, tag=_tag(step))
            return
        received = {}
        for _ in range(size - 1):
            mine = self._empty(step, rng, shape)
            received[dist.recv(mine, group=group, tag=_tag(step))] = mine
        self._keep(step, f"of {sorted(received)}", *(received[source] for source in sorted(received)))

    def _batch(self, step: Step, rng: random.Random) -> None:
        size, rank, group = self._size(step), self._rank(step), self._groups[step.group]
        if size == 1:
            return
        shift = 1 + step.root % (size - 1)
        given, mine = self._tensor(step, rng, rank, step.shape), self._empty(step, rng, step.shape)
        operations = [
            dist.P2POp(dist.isend, given, group=group, group_peer=(rank + shift) % size, tag=_tag(step)),
            dist.P2POp(dist.irecv, mine, group=group, group_peer=(rank - shift) % size, tag=_tag(step)),
        ]
        works = _Several(dist.batch_isend_irecv(operations))
        self._ended(step, works, lambda: self._keep(step, "", mine))

    # --- objects, barriers, groups ---------------------------------------------------------------------------

    def _all_gather_object(self, step: Step, rng: random.Random) -> None:
        every: list[Any] = [None] * self._size(step)
        dist.all_gather_object(every, {"rank": self._rank(step), "of": step.shape}, self._groups[step.group])
        self.results[f"{step.number} objects"] = str(every)

    def _broadcast_object(self, step: Step, rng: random.Random) -> None:
        given = ["a word", step.shape, self._rank(step)]
        dist.broadcast_object_list(given, group=self._groups[step.group], group_src=step.root)
        self.results[f"{step.number} objects"] = str(given)

    def _barrier(self, step: Step, rng: random.Random) -> None:
        """Behind it, all collectives of the group that were begun before it are over."""
        self._groups[step.group].barrier().wait()
        over = [each for each in self._pending if each.step.group == step.group and each.step.kind not in LATE]
        rng.shuffle(over)
        for each in over:
            self._wait_for([each], there=True)

    def _monitored_barrier(self, step: Step, rng: random.Random) -> None:
        dist.monitored_barrier(self._groups[step.group])

    def _note(self, step: Step, group: Any) -> None:
        self._groups.append(group)
        self._members.append(tuple(self._members[step.group][rank] for rank in step.ranks))

    def _new_group(self, step: Step, rng: random.Random) -> None:
        self._note(step, dist.new_group([self._members[step.group][rank] for rank in step.ranks], self.timeout))

    def _split(self, step: Step, rng: random.Random) -> None:
        ranks = list(step.ranks)
        rest = [rank for rank in range(self._size(step)) if rank not in ranks]
        parts = [each for each in (ranks, rest) if each]
        if self.plain:  # PyTorch splits gloo's groups where there is an accelerator only
            mine = None
            for part in parts:
                if self._rank(step) in part:
                    members = [self._members[step.group][rank] for rank in part]
                    mine = dist.new_group(members, self.timeout, use_local_synchronization=True)
        else:
            mine = dist.split_group(self._groups[step.group], parts, self.timeout)
        self._note(step, mine if self._rank(step) in ranks else None)

    def _leave(self, step: Step, rng: random.Random) -> None:
        self._wait_for([each for each in self._pending if each.step.group == step.group])
        dist.destroy_process_group(self._groups[step.group])

    def _wait(self, step: Step, rng: random.Random) -> None:
        self._wait_for([each for each in self._pending if rng.random() < 0.6])


class _Several:
    """Works of messages, waited for as one."""

    def __init__(self, works: list[Any]) -> None:
        self._works = works

    def wait(self) -> None:
        for each in self._works:
            each.wait()


def _octets(tensor: torch.Tensor) -> bytes:
    values = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach()).reshape(-1)
    raw = values.view(torch.uint8) if values.numel() else torch.empty(0, dtype=torch.uint8)
    return (raw != 0 if tensor.dtype is torch.bool else raw).numpy().tobytes()  # sums of gloo's leave 2 in a bool


def _die(how: str) -> None:
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "exit":
        os._exit(3)
    elif how == "signal":
        os.kill(os.getpid(), signal.SIGTERM)
    raise SystemExit(4)


def digest(steps: list[Step]) -> str:
    """The program in a line, for messages."""
    return "; ".join(f"{s.number} {s.kind}/{s.group} {s.dtype}{list(s.shape)} {s.operation}" for s in steps)
