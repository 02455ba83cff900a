# SPDX-License-Identifier: Apache-2.0
"""The store under load, compared with redis and memcached: the same requests, alternating, in one run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Annotated, Final, NamedTuple

from offramp.leo.store.build import LOAD_GENERATOR, built
from offramp.leo.store.peers import Contender, running_peer, running_store
from offramp.leo.store.process import processor_s
from offramp_base.ending.children import stop
from offramp_base.errors import OfframpError
from offramp_base.settings.check import check
from offramp_base.settings.field import Field
from offramp_base.settings.units import BYTES

MIXES: Final = {
    "A": "half reads, half updates",
    "B": "95 % reads, 5 % updates",
    "C": "reads",
    "D": "95 % reads of the latest, 5 % inserts",
    "E": "95 % scans of up to 100 records, 5 % inserts",
    "F": "half reads, half read-modify-writes",
}
PEERS: Final = ("redis-server", "memcached")


@dataclass(frozen=True)
class StoreBenchSettings:
    """Workloads of the benchmark and how often each is measured."""

    workload: Annotated[tuple[str, ...], Field("YCSB's workload; repeatable", choices=MIXES, group="Load")] = ("B",)
    depth: Annotated[tuple[int, ...], Field("Outstanding requests; repeatable", least=1, most=65536)] = (1, 16, 64, 256)
    clients: Annotated[int, Field("Connections; the depth is shared among them", least=1, most=1000)] = 1
    records: Annotated[int, Field("Keys", least=1000, most=50_000_000)] = 100_000
    value_bytes: Annotated[int, Field("Size of each value", unit=BYTES, least=16, most=1 << 20)] = 64
    seconds: Annotated[float, Field("Length of each measurement", least=0.05)] = 1.0
    rounds: Annotated[int, Field("How often all are measured, in turns", least=1)] = 5
    take: Annotated[str, Field("Round that counts", choices={"median": "", "best": "where other work disturbs"})] = (
        "median"
    )
    busy: Annotated[int, Field("Busy processes that run beside it", least=0, most=64)] = 0
    peers: Annotated[bool, Field("Also measure the machine's redis and memcached")] = False
    redis_benchmark: Annotated[bool, Field("Also measure with redis-benchmark: 50 clients, SET and GET")] = False
    seed: Annotated[int, Field("Random seed", least=0)] = 1

    def __post_init__(self) -> None:
        check(self)


class BenchResult(NamedTuple):
    """Results of one measurement.

    Attributes:
        rate: requests per second.
        per_processor_s: requests per second of the server's processor time.
        median_us, p99_us: microseconds from the write of a request until its answer is read.
        wrong: number of answers that were errors or not what was stored.
    """

    rate: float
    per_processor_s: float
    median_us: float
    p99_us: float
    wrong: int


class ContenderResult(NamedTuple):
    """Results of a contender: medians or bests of its rounds, and the sum of ``wrong``."""

    workload: str
    depth: int
    name: str
    measured: BenchResult


def run(settings: StoreBenchSettings, show: Callable[[str], object] = lambda _: None) -> list[ContenderResult]:
    """Measure all contenders in all workloads and depths.

    Args:
        settings: settings of the benchmark.
        show: called with a description of the next measurement.

    Raises:
        OfframpError: a peer is not installed, or a server does not answer.
    """
    results: dict[tuple[str, int, str], list[BenchResult]] = {}
    with ExitStack() as stack:
        contenders = list(stack.enter_context(running_store()))
        if settings.peers:
            contenders += [stack.enter_context(running_peer(program)) for program in PEERS]
        stack.enter_context(_busy(settings.busy))
        for workload in settings.workload:
            for each in contenders:
                show(f"{each.name}: {settings.records} records")
                _load(settings, each, "fill", 1)
            for depth in settings.depth:
                for turn in range(settings.rounds):
                    show(f"workload {workload}, depth {depth}: round {turn + 1} of {settings.rounds}")
                    shift = turn % len(contenders)
                    for each in contenders[shift:] + contenders[:shift]:
                        results.setdefault((workload, depth, each.name), []).append(
                            _measure(settings, each, workload, depth)
                        )
        if settings.redis_benchmark:
            show("redis-benchmark")
            for key, one in _redis_benchmark(settings, [c for c in contenders if c.dialect == "resp"]):
                results.setdefault(key, []).append(one)
    return [ContenderResult(*key, _of_rounds(measured, settings.take)) for key, measured in results.items()]


def ratios(rows: Iterable[ContenderResult]) -> Iterator[tuple[str, int, str, Mapping[str, float]]]:
    """Ratios of each of the store's rows to the best peer's: rates above 1 and times below 1 are better."""
    rows = list(rows)
    for row in rows:
        beside = [r.measured for r in rows if r[:2] == row[:2] and not r.name.startswith("LEO")]
        if row.name.startswith("LEO") and beside:
            mine = row.measured
            yield (
                row.workload,
                row.depth,
                row.name,
                {
                    "rate": mine.rate / max(b.rate for b in beside),
                    "per_processor_s": mine.per_processor_s / max(b.per_processor_s for b in beside),
                    "median": mine.median_us / min(b.median_us for b in beside),
                    "p99": mine.p99_us / min(b.p99_us for b in beside),
                },
            )


def _of_rounds(rounds: Sequence[BenchResult], take: str) -> BenchResult:
    def of(name: str, best: Callable[[Iterable[float]], float]) -> float:
        return (median if take == "median" else best)(float(getattr(one, name)) for one in rounds)

    wrong = sum(one.wrong for one in rounds)
    return BenchResult(of("rate", max), of("per_processor_s", max), of("median_us", min), of("p99_us", min), wrong)


def _load(settings: StoreBenchSettings, one: Contender, workload: str, depth: int) -> dict[str, float]:
    words = [one.address, one.dialect, workload, settings.records, settings.value_bytes]
    words += [min(settings.clients, depth), depth, settings.seconds, settings.seed]
    command = [str(built(LOAD_GENERATOR)), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OfframpError(f"{one.name}: {done.stderr.strip().removeprefix(LOAD_GENERATOR + ': ')}")
    numbers: dict[str, float] = json.loads(done.stdout)
    return numbers


def _measure(settings: StoreBenchSettings, one: Contender, workload: str, depth: int) -> BenchResult:
    before = processor_s(one.pid)
    numbers = _load(settings, one, workload, depth)
    used = processor_s(one.pid) - before
    requests = numbers["requests"]
    rate = requests / numbers["seconds"]
    return BenchResult(rate, requests / used, numbers["median_us"], numbers["p99_us"], int(numbers["wrong"]))


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Run ``count`` processes that compute until the block ends."""
    processes = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            stop(process)


def _redis_benchmark(
    settings: StoreBenchSettings, contenders: Sequence[Contender]
) -> Iterator[tuple[tuple[str, int, str], BenchResult]]:
    program = shutil.which("redis-benchmark")
    if program is None:
        raise OfframpError("redis-benchmark is not installed: apt-get install redis-tools")
    for depth in (1, 16, 64):
        for _ in range(settings.rounds):
            for one in contenders:
                yield from _redis_benchmark_once(settings, program, one, depth)


def _redis_benchmark_once(
    settings: StoreBenchSettings, program: str, one: Contender, depth: int
) -> Iterator[tuple[tuple[str, int, str], BenchResult]]:
    requests = int(50_000 * settings.seconds) * (1 if depth == 1 else 8)
    host, _, port = one.address.rpartition(":")
    for name in ("set", "get"):
        words = ["-h", host, "-p", port, "-n", requests, "-P", depth, "-c", 50, "-d", settings.value_bytes]
        before = processor_s(one.pid)
        command = [program, *map(str, words), "-r", str(settings.records), "-t", name, "--csv"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        used = processor_s(one.pid) - before
        lines = done.stdout.strip().splitlines()
        if done.returncode or len(lines) < 2:
            raise OfframpError(f"redis-benchmark: {one.name}: {(done.stderr or done.stdout).strip()[:200]}")
        columns = dict(zip(lines[-2].replace('"', "").split(","), lines[-1].replace('"', "").split(","), strict=True))
        ms = 1000 * float(columns["p50_latency_ms"]), 1000 * float(columns["p99_latency_ms"])
        yield (f"redis-benchmark {name}", depth, one.name), BenchResult(float(columns["rps"]), requests / used, *ms, 0)
