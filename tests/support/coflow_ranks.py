# SPDX-License-Identifier: Apache-2.0
"""Work of ranks in the tests of the all-to-all operator; each function runs in a process of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from offramp.hermod.endhost import Priorities, Tuning
from offramp.hermod.endhost.all_reduce import AllReduce
from offramp.hermod.endhost.group import endpoint_of
from offramp.hermod.endhost.messages import Messages
from offramp.hermod.factors import CType, Factors
from offramp.hermod.matching.decompose import decompose
from offramp.hermod.operator import AllToAll
from offramp.hermod.operator.exchange import CoflowExchange
from offramp.hermod.operator.moe import combine, dispatch
from offramp.hermod.operator.movers import BatchedMover
from offramp.workers.group import GlooGroup, Group
from offramp_base.errors import OfframpError

Report = Callable[[Any], None]
TYPES = (torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64, torch.float64)
WAYS = ("group", "sockets")


@contextmanager
def operator(way: str, group: dist.ProcessGroup | None = None, **options: Any) -> Iterator[AllToAll]:
    """An operator over a group, or over an endpoint with small chunks."""
    if way == "group":
        with AllToAll(group, **options) as op:
            yield op
        return
    priorities = Priorities.of_job(4, 8)
    tuning = Tuning(chunk=5000, unsent=4096, timeout_s=20)
    with (
        endpoint_of(group, priorities, where="127.0.0.1", tuning=tuning) as endpoint,
        AllToAll(endpoint=endpoint, **options) as op,
    ):
        yield op


def values(rows: int, dtype: torch.dtype, width: tuple[int, ...], seed: int) -> torch.Tensor:
    """Random values of any type."""
    raw = torch.randint(0, 2 if dtype is torch.bool else 120, (rows, *width), generator=torch.manual_seed(seed))
    return raw.to(dtype)


def random_matrices(group: Group, cases: int, report: Report) -> list[str]:
    """Random exchanges by each way against all_to_all_single; what was wrong, from all ranks."""
    wrong: list[str] = []
    with (
        operator("group", plain_below=1, quantum=0) as plain,
        operator("sockets", plain_below=1, quantum=0) as sockets,
        operator("group", plain_below=1, quantum=2) as quantised,
    ):
        for case in range(cases):
            wrong += one_matrix(group, case, (plain, sockets, quantised))
        assert plain.last is not None
        assert plain.last.schedule is not None
    return everyones(group, wrong)


def one_matrix(group: Group, case: int, operators: tuple[AllToAll, ...]) -> list[str]:
    """One random exchange by all operators at once; what was wrong."""
    wrong = []
    rng = np.random.default_rng(case)
    rows = rng.integers(0, 40, (group.size, group.size)) * (rng.random((group.size, group.size)) < 0.7)
    dtype, width = TYPES[case % len(TYPES)], ((), (3,), (2, 5), (1,))[case % 4]
    send, receive = rows[group.rank].tolist(), rows[:, group.rank].tolist()
    source = values(sum(send), dtype, width, case * 10 + group.rank)
    expected = torch.empty((sum(receive), *width), dtype=dtype)
    dist.all_to_all_single(as_plain(expected), as_plain(source), receive, send)
    given = strided(source) if case % 3 == 0 else source
    started = []
    for op in operators:
        output = torch.zeros_like(expected)
        output = strided(output) if case % 3 == 1 else output
        started.append((output, op.all_to_all_single(output, given, receive, send, async_op=True)))
    for output, handle in started:
        if handle.wait(20).data_ptr() != output.data_ptr():
            wrong.append(f"case {case}: another tensor")
        if not torch.equal(output, expected):
            wrong.append(f"case {case}, rank {group.rank}: other values")
    return wrong


def as_plain(tensor: torch.Tensor) -> torch.Tensor:
    """A type that gloo's own operation takes, of the same bytes."""
    if tensor.dtype is torch.bool:
        return tensor.view(torch.uint8)
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def strided(tensor: torch.Tensor) -> torch.Tensor:
    """The same values in memory with gaps."""
    wide = torch.zeros((*tensor.shape, 2), dtype=tensor.dtype)
    wide[..., 1] = tensor
    return wide[..., 1]


def everyones(group: Group, own: list[Any]) -> list[Any]:
    """The lists of all ranks in one."""
    gathered: list[Any] = [None] * group.size
    dist.all_gather_object(gathered, own)
    return [item for items in gathered for item in items]


def everything(group: Group, _: Any, report: Report) -> dict[Any, Any]:
    """All parts in one start of the processes; complete on rank 0."""
    results: dict[Any, Any] = {
        "matrices": random_matrices(group, 40, report),
        "groups": everyones(group, other_groups(group)),
        "choices": everyones(group, choices(group)),
        "moe": everyones(group, experts(group)),
        "all-reduce": everyones(group, sums(group)),
        "messages": everyones(group, messages(group)),
        "batches": everyones(group, batches(group)),
    }
    for way in WAYS:
        lines: list[Any] = [None] * group.size
        dist.all_gather_object(lines, refusals(group, way))
        results["refusals", way] = lines
    return results


def other_groups(group: Group) -> list[str]:
    """Ranks 3, 1 and 2 in that order, without rank 0; two operators at once over one endpoint."""
    wrong = []
    ranks = [3, 1, 2]
    other = dist.new_group(ranks)
    if group.rank == 0:
        try:
            AllToAll(other)
        except OfframpError as error:
            return [] if "not in the group" in str(error) else [str(error)]
        return ["rank 0 was let in"]
    me = dist.get_rank(other)
    for way in WAYS:
        with operator(way, other, plain_below=1, quantum=0) as op:
            source = torch.arange(6) + 10 * me
            output = torch.empty(6, dtype=torch.int64)
            op.all_to_all_single(output, source)
            if output.tolist() != [10 * r + 2 * me + k for r in range(3) for k in range(2)]:
                wrong.append(f"{way}: rank {me} of three got {output.tolist()}")
    with AllToAll(other, transport="sockets", priorities=Priorities.of_job(4, 8)) as op:
        output = torch.empty(3)
        op.all_to_all_single(output, torch.full((3,), float(me)), factors=Factors(0, CType.EP, 0))
        if output.tolist() != [0, 1, 2]:
            wrong.append(f"an endpoint of its own: {output.tolist()}")
    with (
        endpoint_of(other, where="127.0.0.1") as endpoint,
        AllToAll(endpoint=endpoint, name="a") as first,
        AllToAll(endpoint=endpoint, name="b") as second,
    ):
        outputs, ops = [torch.empty(3), torch.empty(3)], (first, second)
        order = (0, 1) if me else (1, 0)
        handles = [ops[k].all_to_all_single(outputs[k], torch.full((3,), me + k / 2), async_op=True) for k in order]
        for handle in handles:
            handle.wait(20)
        if outputs[0].tolist() != [0, 1, 2] or outputs[1].tolist() != [0.5, 1.5, 2.5]:
            wrong.append(f"two operators: {outputs}")
    return wrong


def choices(group: Group) -> list[str]:
    """Parts that are cut and parts that are not."""
    wrong = []
    with operator("group") as op:
        small, large = torch.zeros(4 * 16), torch.zeros(4 * (1 << 18))
        for source, cut in ((small, False), (large, True)):
            op.all_to_all_single(torch.empty_like(source), source)
            if op.last is None or (op.last.schedule is not None) is not cut:
                wrong.append(f"{len(source)} values: cut is not {cut}")
        if op._cost is None or op._cost.byte_s <= 0 or op._cost.overhead_s < 0:
            wrong.append(f"measured {op._cost}")
        costs: list[Any] = [None] * group.size
        dist.all_gather_object(costs, op._cost)
        if len(set(costs)) != 1:
            wrong.append("ranks measured differently")
    return wrong


def experts(group: Group) -> list[str]:
    """Dispatch, an expert that scales by its rank, combine: values and gradients; how often counts were exchanged."""
    wrong = []
    counts = [[2, 0, 3, 1], [0, 0, 0, 0], [1, 4, 0, 2], [5, 1, 1, 0]][group.rank]
    for way in WAYS:
        with operator(way, plain_below=1, quantum=0) as op:
            rounds = count_rounds(op)
            tokens = torch.randn(sum(counts), 3, generator=torch.manual_seed(group.rank), requires_grad=True)
            sent = dispatch(op, tokens, counts, Factors(1, CType.EP, 2), Factors(1, CType.EP, 3))
            rows = sent.wait()
            if sum(sent.received) != len(rows):
                wrong.append(f"{way}: {sent.received} rows, {len(rows)} came")
            back = combine(op, torch.cat([rows, rows], 1) * (group.rank + 1), sent, Factors(1, CType.EP, 2)).wait()
            scale = torch.repeat_interleave(torch.arange(1.0, 5.0), torch.tensor(counts)).unsqueeze(1)
            if not torch.equal(back, torch.cat([tokens, tokens], 1) * scale):
                wrong.append(f"{way}: other values")
            back.square().sum().backward()
            if tokens.grad is None or not torch.allclose(tokens.grad, 4 * tokens.detach() * scale**2):
                wrong.append(f"{way}: other gradients")
            if rounds != [1]:
                wrong.append(f"{way}: counts were exchanged {rounds} times")
            with torch.no_grad():
                if combine(op, rows, sent).wait().requires_grad:
                    wrong.append(f"{way}: gradients where none are wanted")
    return wrong


def count_rounds(op: AllToAll) -> list[int]:
    """A number that grows with each exchange of counts."""
    rounds, gather = [0], op._mover.gather

    def counted(*arguments: Any) -> Any:
        rounds[0] += 1
        return gather(*arguments)

    op._mover.gather = counted
    return rounds


def refusals(group: Group, way: str) -> list[str]:
    """Errors of this rank for each kind of bad input, one after the other."""
    rank, lines = group.rank, []
    fine = torch.zeros(8)
    with operator(way, plain_below=1, quantum=0) as op:

        def attempt(output: torch.Tensor, given: torch.Tensor, *splits: Any, factors: Factors | None = None) -> None:
            try:
                op.all_to_all_single(output, given, *splits, factors=factors)
            except OfframpError as error:
                lines.append(str(error))
            else:
                lines.append("nothing")

        attempt(fine.clone(), fine, None, [2, 1, 1, 1] if rank == 2 else None)
        attempt(fine.clone(), fine, [4, 4, 0] if rank == 1 else None)
        attempt(fine.double() if rank == 3 else fine.clone(), fine)
        attempt(torch.zeros(11) if rank == 1 else fine.clone(), fine, [5, 2, 2, 2] if rank == 1 else None)
        attempt(fine.int() if rank == 2 else fine.clone(), fine.int() if rank == 2 else fine)
        wide = torch.zeros(8, 2) if rank == 1 else fine
        attempt(wide.clone(), wide)
        attempt(fine.clone(), fine, factors=Factors(int(rank == 3), CType.EP, 0))
        output = torch.empty(4)
        op.all_to_all_single(output, torch.full((4,), float(rank)))
        if output.tolist() != [0, 1, 2, 3]:
            lines.append(f"afterwards: {output.tolist()}")
    return lines


def sums(group: Group) -> list[str]:
    """All-reduces of odd sizes and types, several at once."""
    wrong = []
    with endpoint_of(None, Priorities.of_job(4, 8), where="127.0.0.1", tuning=Tuning(chunk=777)) as endpoint:
        reduce = AllReduce(endpoint)
        started = []
        for case, dtype in enumerate((torch.float32, torch.bfloat16, torch.int64, torch.float64)):
            for shape in ((0,), (1,), (7, 3), (1001,)):
                everyone = [
                    torch.randn(shape, generator=torch.manual_seed(10 * case + r)).mul(100).to(dtype)
                    for r in range(group.size)
                ]
                wide = [e.float() if dtype is torch.bfloat16 else e for e in everyone]
                expected = (((wide[0] + wide[1]) + wide[2]) + wide[3]).to(dtype)
                started.append((expected, reduce.start(everyone[group.rank], Factors(3, CType.DP, case))))
        for k, (expected, future) in enumerate(started):
            if not torch.equal(future.result(20), expected):
                wrong.append(f"sum {k} on rank {group.rank}")
        try:
            reduce.start(torch.ones(3) > 0)
            wrong.append("a sum of truth values")
        except OfframpError:
            pass
        reduce.close()
    return wrong


def messages(group: Group) -> list[str]:
    """A pipeline: activations forward, gradients back, several of each on their way, with gaps in memory."""
    wrong = []
    with endpoint_of(None, Priorities.of_job(4, 8), where="127.0.0.1", tuning=Tuning(chunk=500)) as endpoint:
        line = Messages(endpoint)
        handles, landed = [], []
        for step, tag in ((1, 0), (-1, 5)):
            sink, source = group.rank + step, group.rank - step
            for mid in range(3):
                if 0 <= source < group.size:
                    place = strided(torch.zeros(100 + mid)) if mid == 1 else torch.zeros(100 + mid)
                    landed.append((place, float(10 * source + mid + tag)))
                    handles.append(line.irecv(place, source, tag))
                if 0 <= sink < group.size:
                    value = torch.full((100 + mid,), float(10 * group.rank + mid + tag))
                    handles.append(line.isend(value, sink, tag, Factors(mid, CType.PP, 2)))
        for handle in handles:
            handle.wait(20)
            if not handle.is_completed():
                wrong.append("not completed")
        wrong += [f"rank {group.rank}: {value}" for place, value in landed if not (place == value).all()]
        mine, theirs = torch.full((5,), float(group.rank)), torch.empty(5)
        following, before = (group.rank + 1) % group.size, (group.rank - 1) % group.size
        batch = [dist.P2POp(dist.isend, mine, following), dist.P2POp(dist.irecv, theirs, before)]
        for handle in line.batch_isend_irecv(batch, Factors(0, CType.PP, 0)):
            handle.wait(20)
        wrong += [] if bool((theirs == before).all()) else [f"batch at rank {group.rank}"]
        for bad in (lambda: line.isend(torch.zeros(1), group.rank), lambda: line.irecv(torch.zeros(1), 1, -1)):
            try:
                bad()
                wrong.append("accepted bad input")
            except OfframpError:
                pass
    return wrong


def batches(group: Group) -> list[str]:
    """The way for NCCL, over gloo: the same phases as batches."""
    control = dist.new_group()
    mover = BatchedMover(dist.new_group(), control, 20, "batches")
    wrong = []
    for case in range(6):
        rng = np.random.default_rng(case)
        rows = rng.integers(0, 9, (group.size, group.size)) * (rng.random((group.size, group.size)) < 0.6)
        for schedule in (None, decompose(rows)):
            exchange = CoflowExchange(rows, 3, schedule)
            received = exchange.starts(group.rank)[1]
            everyone = [values(3 * int(rows[r].sum()), torch.uint8, (), 10 * case + r) for r in range(group.size)]
            sink = torch.zeros(received[-1], dtype=torch.uint8)
            mover.move(1, exchange, everyone[group.rank], sink, None).result()
            for r in range(group.size):
                start = exchange.starts(r)[0][group.rank]
                size = received[r + 1] - received[r]
                came = sink[received[r] : received[r + 1]]
                if r != group.rank and not torch.equal(came, everyone[r][start : start + size]):
                    wrong.append(f"case {case}: rank {group.rank} from {r}")
    return wrong


def dying(rank: int, store: str, way: str, outbox: Connection) -> None:
    """Rank 1 is killed while the others wait for its rows; a process of its own, under nobody's watch."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    group = GlooGroup(store, rank, 3)
    with operator(way, plain_below=1, quantum=0, timeout_s=60) as op:
        source = torch.zeros(3 << 10)
        op.all_to_all_single(torch.empty_like(source), source)
        group.sum(torch.zeros(1))
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            op.all_to_all_single(torch.empty_like(source), source)
            outbox.send("nothing")
        except OfframpError as error:
            outbox.send(str(error))
    os._exit(0)
