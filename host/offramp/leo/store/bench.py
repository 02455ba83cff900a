# SPDX-License-Identifier: Apache-2.0
"""The store under load, compared with redis and memcached: the same requests, alternating, in one run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

from offramp.leo.store.build import LOAD_GENERATOR, built
from offramp.leo.store.peers import Contender, running_peer, running_store
from offramp.leo.store.process import processor_s
from offramp.leo.store.rounds import TAKES, BenchResult, Ratio, of_rounds, ratios
from offramp_base.ending.children import stop, until_parent_ends
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
MORE_PEERS: Final = ("valkey-server",)
"""Peers that Debian 12 lacks; they are measured where they are installed."""


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
    take: Annotated[str, Field("What counts", choices=TAKES)] = "median"
    busy: Annotated[int, Field("Busy processes that run beside it", least=0, most=64)] = 0
    peers: Annotated[bool, Field("Also measure the machine's redis and memcached, and its valkey if it has one")] = (
        False
    )
    redis_benchmark: Annotated[bool, Field("Also measure with redis-benchmark: 50 clients, SET and GET")] = False
    seed: Annotated[int, Field("Random seed", least=0)] = 1

    def __post_init__(self) -> None:
        check(self)


class ContenderResult(NamedTuple):
    """Results of a contender.

    Attributes:
        workload, depth, name: what was measured.
        measured: result of all rounds, by ``take``.
        rounds: result of each round.
    """

    workload: str
    depth: int
    name: str
    measured: BenchResult
    rounds: Sequence[BenchResult]


class PeerRatios(NamedTuple):
    """Ratios of a row of the store's, ``name``, to that of a peer."""

    workload: str
    depth: int
    name: str
    peer: str
    ratios: Mapping[str, Ratio]


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
            more = [program for program in MORE_PEERS if shutil.which(program)]
            contenders += [stack.enter_context(running_peer(program)) for program in (*PEERS, *more)]
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
    return [ContenderResult(*key, of_rounds(rounds, settings.take), rounds) for key, rounds in results.items()]


def over_peers(rows: Iterable[ContenderResult], take: str = "median") -> Iterator[PeerRatios]:
    """Ratios of each of the store's rows to each peer's: rates above 1 and times below 1 are better."""
    rows = list(rows)
    for row in rows:
        for beside in rows:
            if row.name.startswith("LEO") and beside[:2] == row[:2] and not beside.name.startswith("LEO"):
                yield PeerRatios(*row[:3], beside.name, ratios(row.rounds, beside.rounds, take))


def _load(settings: StoreBenchSettings, one: Contender, workload: str, depth: int) -> dict[str, Any]:
    words = [one.address, one.dialect, workload, settings.records, settings.value_bytes]
    words += [min(settings.clients, depth), depth, settings.seconds, settings.seed]
    command = [str(built(LOAD_GENERATOR)), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OfframpError(f"{one.name}: {done.stderr.strip().removeprefix(LOAD_GENERATOR + ': ')}")
    numbers: dict[str, Any] = json.loads(done.stdout)
    return numbers


def _measure(settings: StoreBenchSettings, one: Contender, workload: str, depth: int) -> BenchResult:
    before = processor_s(one.pid)
    numbers = _load(settings, one, workload, depth)
    used = processor_s(one.pid) - before
    requests = numbers["requests"]
    times = {float(time_us): int(count) for time_us, count in numbers["times_us"]}
    return BenchResult(
        requests / numbers["seconds"],
        requests / used,
        numbers["median_us"],
        numbers["p99_us"],
        int(numbers["wrong"]),
        times,
    )


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Run ``count`` processes that compute until the block ends."""
    command = [*until_parent_ends(), "/bin/sh", "-c", "while :; do :; done"]
    processes = [subprocess.Popen(command) for _ in range(count)]
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
        yield (
            (f"redis-benchmark {name}", depth, one.name),
            BenchResult(float(columns["rps"]), requests / used, *ms, 0, {}),
        )
