# SPDX-License-Identifier: Apache-2.0
"""Work of ranks in the tests of the backend for torch.distributed; each function runs in a process of its own."""

from __future__ import annotations

import json
import math
import os
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as F  # noqa: N812
import yaml

import offramp.torch
import torch_programs
import torch_recipes
from offramp.torch import create
from offramp.torch.dispatcher import every
from offramp.torch.history import totals
from offramp.torch.offload import OFFLOADS, CollectiveCall, CollectiveRequest, DeclinedError, Offload, Result
from offramp.torch.offloads.allreduce import InSwitch
from offramp.torch.place import OffloadGroup
from offramp.torch.settings import VARIABLE
from offramp.torch.types import NUMBERS
from offramp.workers.group import Group
from offramp_base.errors import OfframpError

Report = Callable[[Any], None]
_turns: list[int] = []


@contextmanager
def backend(group: Group, name: str, settings: dict[str, Any] | None = None, timeout_s: float = 30) -> Iterator[None]:
    """The default group anew, with another backend and network."""
    if dist.is_initialized():
        meet("leave")
        dist.destroy_process_group()
    group.close = lambda: None  # type: ignore[method-assign]
    _turns.append(1)
    folder = Path(tempfile.gettempdir())
    create.network.cache_clear()
    os.environ.pop(VARIABLE, None)
    if settings is not None:
        path = folder / f"network-{group.rank}-{len(_turns)}.yaml"
        path.write_text(yaml.safe_dump(settings))
        os.environ[VARIABLE] = str(path)
    dist.init_process_group(
        name,
        init_method=(folder / f"store-{len(_turns)}").as_uri(),
        rank=group.rank,
        world_size=group.size,
        timeout=timedelta(seconds=timeout_s),
    )
    meet("begin")
    try:
        yield
    finally:
        dist.destroy_process_group()


def meet(where: str) -> None:
    """Wait for all ranks by the store: gloo gives up where one connects while another leaves."""
    store = dist.distributed_c10d._get_default_store()
    store.set(f"{where} {dist.get_rank()}", "1")
    store.wait([f"{where} {rank}" for rank in range(dist.get_world_size())], timedelta(seconds=30))


def programs(group: Group, item: tuple[list[str], list[int]], report: Report) -> list[str]:
    """Programs that end with other bits on this backend than on gloo, from rank 0; each rank checks its own."""
    names, seeds = item
    wrong = []
    for name in names:
        for seed in seeds:
            with backend(group, "gloo"):
                expected = torch_programs.PROGRAMS[name](seed)
            with backend(group, "offramp"):
                results = torch_programs.PROGRAMS[name](seed)
                kinds = offramp.torch.counters()
            same = len(results) == len(expected) and all(map(torch.equal, results, expected))
            if not same or not expected or not kinds.get("gloo"):
                wrong.append(f"{name}, seed {seed}, rank {group.rank}: {kinds}")
                report(wrong[-1])
    return wrong


def recipe(
    group: Group, item: tuple[str, dict[str, tuple[str, dict[str, Any] | None]], str], report: Report
) -> dict[str, list[str]]:
    """A program of :mod:`torch_recipes` on each of some backends, one after the other in the same processes.

    Its tensors go to a file for each backend and rank; returns who carried out what on rank 0, by backend.
    """
    name, backends, folder = item
    counted = {}
    for label, (which, settings) in backends.items():
        with backend(group, which, settings):
            torch.save(torch_recipes.RECIPES[name](1), f"{folder}/{label}-rank{group.rank}.pt")
            done = [totals(each.recorder) for each in every]
            counted[label] = sorted({f"{by} {kind}" for each in done for by, kinds in each.items() for kind in kinds})
    return counted


@OFFLOADS.register("counting")
class Counting(Offload):
    """Sums, gathers and exchanges over the control group, counted; faults when the settings ask for them."""

    kinds = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send", "recv")
    calls: ClassVar[list[CollectiveCall]] = []
    fault: ClassVar[str] = ""

    def takes(self, request: CollectiveRequest) -> bool:
        return (
            super().takes(request)
            and request.form != "any"
            and (request.kind, request.form) != ("all_to_all", "list")
            and (not request.reduce or request.dtype in NUMBERS)
        )

    def open(self, place: OffloadGroup) -> None:
        if self.fault == "open" and place.rank == 1:
            raise OfframpError("no slots are left")
        self.place, self.control = place, place.control

    def _count(self, call: CollectiveCall) -> None:
        self.calls.append(call)
        if self.fault == "decline":
            raise DeclinedError("the values overflow")
        if self.fault == "fail":
            raise OfframpError("the switch has gone")

    def all_reduce(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        self._count(call)
        total = values.clone()
        dist.all_reduce(total, getattr(dist.ReduceOp, call.request.reduce.replace("AVG", "SUM")), group=self.control)
        return total

    def reduce_scatter(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        return self.all_reduce(values, call)[self.place.rank].clone()

    def all_gather(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        self._count(call)
        gathered = values.new_empty((self.place.size, len(values)))
        dist.all_gather_into_tensor(gathered.view(-1), values, group=self.control)
        return gathered

    def all_to_all(self, output: torch.Tensor, values: torch.Tensor, call: CollectiveCall) -> Result:
        self._count(call)
        dist.all_to_all_single(output, values, call.output_splits or None, call.input_splits or None, self.control)
        return output

    def send(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        self._count(call)
        return self._later(
            dist.isend(values, group_dst=call.peer, tag=call.input_splits[0], group=self.control), values
        )

    def recv(self, output: torch.Tensor, call: CollectiveCall) -> Result:
        self._count(call)
        return self._later(
            dist.irecv(output, group_src=call.peer, tag=call.input_splits[0], group=self.control), output
        )

    def _later(self, work: Any, result: torch.Tensor) -> Result:
        """A send that waited in the lane would keep this rank's receive from starting."""
        return ThreadPoolExecutor(1).submit(lambda: (work.wait(), result)[1])


COUNTING = {"offloads": ["counting"], "least": 1}


def every_form(dtype: torch.dtype = torch.float32, device: str = "cpu") -> dict[str, list[torch.Tensor]]:
    """Results of each form of each collective on this rank; integers, so that sums are exact."""
    with torch.device(device):
        return {name: [t.cpu() for t in tensors] for name, tensors in _every_form(dtype).items()}


def _every_form(dtype: torch.dtype) -> dict[str, list[torch.Tensor]]:
    rank, size = dist.get_rank(), dist.get_world_size()

    def values(*shape: int) -> torch.Tensor:
        return (torch.arange(math.prod(shape)).reshape(shape) % 7 + rank).to(dtype)

    calls: dict[str, list[torch.Tensor]] = {}
    for op in ("SUM", "MAX", "MIN", "PRODUCT"):
        calls[f"all_reduce {op}"] = [values(3, 5)]
        dist.all_reduce(calls[f"all_reduce {op}"][0], getattr(dist.ReduceOp, op))
    calls["all_reduce coalesced"] = [values(3), values(2, 2)]
    work = dist.group.WORLD.allreduce_coalesced(calls["all_reduce coalesced"])
    work.wait()
    out, lists = torch.empty(4, dtype=dtype), [torch.empty(4, dtype=dtype) for _ in range(size)]
    dist.reduce_scatter_tensor(out, values(4 * size))
    calls["reduce_scatter single"] = [out]
    again = torch.empty(4, dtype=dtype)
    dist.reduce_scatter(again, [values(4) + k for k in range(size)])
    calls["reduce_scatter list"] = [again]
    funcol = F.reduce_scatter_tensor_coalesced([values(size), values(2 * size)], "sum", [0, 0], dist.group.WORLD)
    calls["reduce_scatter coalesced"] = [t.clone() for t in funcol]
    whole = torch.empty(6 * size, dtype=dtype)
    dist.all_gather_into_tensor(whole, values(6))
    dist.all_gather(lists, values(4))
    calls["all_gather"] = [whole, *lists]
    calls["all_gather coalesced"] = [
        t.clone() for t in F.all_gather_into_tensor_coalesced([values(2), values(3)], dist.group.WORLD)
    ]
    even, uneven = torch.empty(2 * size, dtype=dtype), torch.empty(size * (rank + 1), dtype=dtype)
    dist.all_to_all_single(even, values(2 * size))
    counts = [k + 1 for k in range(size)]
    dist.all_to_all_single(uneven, values(sum(counts)), [rank + 1] * size, counts)
    calls["all_to_all"] = [even, uneven]
    sent, got = values(5), torch.empty(5, dtype=dtype)
    works = [dist.isend(sent, (rank + 1) % size, tag=7), dist.irecv(got, (rank - 1) % size, tag=7)]
    for each in works:
        each.wait()
    calls["send"] = [got]
    future = dist.all_reduce(work_on := values(8), async_op=True).get_future()
    calls["future"] = [future.then(lambda f: f.value()[0] + 1).wait(), work_on]
    return calls


def forms(group: Group, device: str, report: Report) -> dict[str, Any]:
    """Every form through an offload against gloo, and through gloo where an offload declines or cannot be opened.

    With a ``device`` of this backend's tensors; gloo's are in main memory.
    """
    results: dict[str, Any] = {}
    for dtype in (torch.float32, torch.int64):
        with backend(group, "gloo"):
            expected = every_form(dtype)
        for fault in ("", "decline", "open"):
            Counting.calls.clear()
            Counting.fault = fault
            with backend(group, "offramp", COUNTING):
                got = every_form(dtype, device)
                counted = offramp.torch.counters()
            wrong = [k for k, tensors in expected.items() if not all(map(torch.equal, tensors, got[k]))]
            kinds = sorted({(c.request.kind, c.request.form) for c in Counting.calls})
            results[f"{dtype} {fault}"] = (wrong, kinds, counted)
            if wrong:
                report((group.rank, wrong))
    Counting.fault = ""
    return results


def faults(group: Group, _: Any, report: Report) -> dict[str, list[str]]:
    """The line that each rank is told, by kind of fault; the group goes on where that is promised."""
    rank = group.rank
    lines: dict[str, str] = {}

    def attempt(name: str, call: Callable[[], Any]) -> None:
        try:
            call()
        except RuntimeError as error:
            lines[name] = str(error)
        else:
            lines[name] = "nothing"

    with backend(group, "offramp", COUNTING):
        attempt("shape", lambda: dist.all_reduce(torch.ones(5 if rank == 1 else 4)))
        attempt("type", lambda: dist.all_reduce(torch.ones(4, dtype=torch.int32 if rank == 1 else torch.float32)))
        other = lambda: dist.all_gather_into_tensor(torch.ones(8), torch.ones(2))  # noqa: E731
        attempt("another", other if rank == 1 else lambda: dist.all_reduce(torch.ones(4)))
        values = torch.ones(4)
        attempt("afterwards", lambda: dist.all_reduce(values))
        lines["sum"] = str(values.tolist())
        Counting.fault = "fail"
        attempt("fail", lambda: dist.all_reduce(torch.ones(4)))
        Counting.fault = ""
    with backend(group, "offramp", {"verify": True}):
        attempt("verify", lambda: dist.all_reduce(torch.ones(5 if rank == 1 else 4)))
    with backend(group, "offramp", {"dump": tempfile.gettempdir()}, timeout_s=2):
        attempt("missing", lambda: None if rank == 1 else dist.all_reduce(torch.ones(4)))
        lines["dump"] = str(sorted(p.name for p in Path(tempfile.gettempdir()).glob("*rank0.json")))
        meet("missed")
    with backend(group, "gloo"):
        gathered: list[Any] = [None] * group.size
        dist.all_gather_object(gathered, lines)
    return {name: [each[name] for each in gathered] for name in lines}


NETWORKS: dict[str, dict[str, Any]] = {
    "hermod": {"micro_batches": 4, "layers": 8, "interface": "127.0.0.1"},
    "themis": {"chunks": 4},
    "leo": {"devices": ["acc=model:service_us=100"]},
    "sylvie": {"bits": 8},
}


def systems(group: Group, folder: str, report: Report) -> dict[str, Any]:
    """Programs over each of our systems: the largest difference from gloo, and who carried out what, from rank 0."""
    results: dict[str, Any] = {}
    expected: dict[str, list[torch.Tensor]] = {}
    jobs = {"hermod": ("data_parallel", "mixture_of_experts", "pipeline")}
    for name, settings in NETWORKS.items():
        if name == "themis":
            settings = settings | {"dimensions": f"{folder}/pod.yaml"}
        for program in jobs.get(name, ("data_parallel",)):
            if program not in expected:
                with backend(group, "gloo"):
                    expected[program] = torch_programs.PROGRAMS[program](1)
            with backend(group, "offramp", {"offloads": [name], "least": 1, **settings}):
                got = torch_programs.PROGRAMS[program](1)
                counted = offramp.torch.counters()
                dscps = _dscps()
            worst = max(float((a - b).abs().max()) for a, b in zip(got, expected[program], strict=True))
            results[f"{name} {program}"] = worst, {kind: t["calls"] for kind, t in counted[name].items()}, dscps
    return results


def _dscps() -> list[int]:
    """Transports that carried the bytes of this rank's connections of Hermod."""
    dispatcher = next(d for d in every if d.place.name == dist.group.WORLD.group_name)
    endpoint = getattr(dispatcher._offloads[0][1], "endpoint", None)
    return sorted(endpoint.sent_bytes) if endpoint is not None else []


def python_only(group: Group, _: Any, report: Report) -> dict[str, Any]:
    """The backend without a compiler: the programs' bits, and what an offload was offered."""
    os.environ[create.WITHOUT_COMPILER] = "1"
    create.extension.cache_clear()
    wrong = programs(group, (["data_parallel", "mixture_of_experts"], [2]), report)
    with backend(group, "gloo"):
        expected = every_form()
    with backend(group, "offramp", COUNTING):
        got = every_form()
        counted = offramp.torch.counters()
    wrong += [k for k, tensors in expected.items() if not all(map(torch.equal, tensors, got[k]))]
    return {"wrong": wrong, "offloaded": sorted(counted["counting"])}


def paces(group: Group, item: tuple[str, list[int], int], report: Report) -> dict[int, tuple[float, float]]:
    """Seconds of a collective of so many bytes on gloo and on this backend: medians of turns, on the slowest rank.

    ``ddp`` is a step of a model with so many bytes of parameters in DistributedDataParallel.
    """
    kind, sizes, turns = item
    paces_by_size: dict[int, tuple[float, float]] = {}
    with backend(group, "gloo"):
        groups = [dist.new_group(backend=name) for name in ("gloo", "offramp")]
        for size in sizes:
            values, into = torch.ones(size // 4), torch.empty(size // 4)
            steps = [_ddp_step(size, each) for each in groups] if kind == "ddp" else []
            taken: list[list[float]] = [[], []]
            for turn in range(turns + 1):
                for k in (0, 1) if turn % 2 else (1, 0):
                    dist.barrier()
                    start = time.perf_counter()
                    if kind == "ddp":
                        steps[k]()
                    elif kind == "all_reduce":
                        dist.all_reduce(into, group=groups[k])
                    else:
                        dist.all_to_all_single(into, values, group=groups[k])
                    took = torch.tensor([time.perf_counter() - start], dtype=torch.float64)
                    dist.all_reduce(took, dist.ReduceOp.MAX)
                    taken[k].append(float(took))
            paces_by_size[size] = statistics.median(taken[0][1:]), statistics.median(taken[1][1:])
    return paces_by_size


def _ddp_step(size: int, group: Any) -> Callable[[], None]:
    width = math.isqrt(size // 16)
    model = torch.nn.Sequential(*(torch.nn.Linear(width, width, bias=False) for _ in range(4)))
    parallel = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
    values = torch.ones(8, width)

    def step() -> None:
        parallel.zero_grad()
        parallel(values).sum().backward()

    return step


def observed(group: Group, _: Any, report: Report) -> dict[str, Any]:
    """Profiler ranges, counters, split groups, sequence numbers, monitored barriers, and an abort of what waits."""
    observations: dict[str, Any] = {}
    with backend(group, "offramp", COUNTING, timeout_s=3):
        with torch.autograd.profiler.profile(record_shapes=True) as profile:
            dist.all_reduce(torch.ones(8))
            dist.broadcast(torch.ones(8), 0)
        observations["ranges"] = sorted(
            (e.name, e.input_shapes) for e in profile.function_events if e.name.startswith(("offramp:", "gloo:"))
        )
        half = dist.split_group(None, [[0, 1]], group_desc="half")
        if half is not None:
            dist.all_reduce(torch.ones(4), group=half)
            observations["half"] = offramp.torch.counters(half)["counting"]["all_reduce"]["calls"]
            observations["half size"] = dist.get_world_size(half)
            observations["described"] = Counting.calls[-1].request.group
        dist.distributed_c10d._set_pg_timeout(timedelta(seconds=2))
        before = dist.group.WORLD._get_sequence_number_for_group()
        dist.all_reduce(torch.ones(2))
        observations["sequence"] = dist.group.WORLD._get_sequence_number_for_group() - before
        observations["last"] = [(row["number"], row["kind"], row["by"]) for row in offramp.torch.last_collectives()]
        dist.monitored_barrier()
        try:
            if group.rank != 1:
                dist.monitored_barrier(timeout=timedelta(seconds=1), wait_all_ranks=True)
        except RuntimeError as error:
            observations["monitored"] = str(error)
        meet("monitored")
    with backend(group, "offramp", timeout_s=3):
        observations["aborted"] = ""
        if group.rank == 0:
            start = time.monotonic()
            work = dist.broadcast(torch.ones(4), 1, async_op=True)
            dist.group.WORLD.abort()
            try:
                work.wait()
            except RuntimeError as error:
                observations["aborted"] = str(error)
            observations["after"] = time.monotonic() - start
        meet("aborted")
    return observations


def hung(group: Group, folder: str, report: Report) -> dict[str, Any]:
    """All ranks get SIGUSR1 while rank 1 does not come to a collective: the dumps, and the sum after all."""
    paths = [Path(folder) / f"0-rank{rank}.json" for rank in range(group.size)]

    def stays_away() -> None:
        while not all(path.exists() for path in paths):
            time.sleep(0.01)

    def signals_itself() -> None:
        hangs = paths[0].exists if group.rank == 1 else lambda: offramp.torch.last_collectives()[-1]["number"] == 2
        while not hangs():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGUSR1)

    with backend(group, "offramp", {**COUNTING, "dump": folder}):
        dist.all_reduce(torch.ones(4))
        values = torch.ones(4)
        threading.Thread(target=signals_itself).start()
        if group.rank == 1:
            stays_away()
        dist.all_reduce(values)
    return {"sum": values.tolist(), "dumps": [json.loads(path.read_text()) for path in paths]}


def in_switch(group: Group, network: dict[str, Any], report: Report) -> dict[str, Any]:
    """Sums by the switch: which types differ from NumPy's, what programs count, what faults say, from rank 0."""
    settings = {"offloads": ["allreduce"], "least": 1, **network}
    results: dict[str, Any] = {"wrong": []}
    with backend(group, "gloo"):
        expected = torch_programs.PROGRAMS["data_parallel"](1)
    with backend(group, "offramp", settings):
        got = torch_programs.PROGRAMS["data_parallel"](1)
        results["worst"] = max(float((a - b).abs().max()) for a, b in zip(got, expected, strict=True))
        for dtype in InSwitch.dtypes:
            values = (torch.arange(1000) % 15 * (group.rank + 1)).to(dtype)
            dist.all_reduce(values)
            if not torch.equal(values, (torch.arange(1000) % 15 * (group.size * (group.size + 1) // 2)).to(dtype)):
                results["wrong"].append(str(dtype))
        values = torch.full((3, 5), float(group.rank))
        dist.all_reduce(values, dist.ReduceOp.AVG)
        results["mean"] = values.unique().tolist()
        results["calls"] = {by: sorted(kinds) for by, kinds in offramp.torch.counters().items()}
        try:
            dist.all_reduce(torch.full((4,), 2**31 - 1, dtype=torch.int32))
        except RuntimeError as error:
            results["overflow"] = str(error)
        meet("overflown")
    with backend(group, "offramp", {**settings, "ports": [1] * (group.size - 1)}):
        values = torch.ones(4)
        dist.all_reduce(values)  # a group that is larger than the switch's ports
        results["beyond"] = values.tolist(), sorted(offramp.torch.counters())
    return results
