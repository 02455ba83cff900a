# SPDX-License-Identifier: Apache-2.0
"""Tables of up to a million entries in the native engine: look-ups, insertions, memory, and what packets wait for.

Times are of processor, the least of some rounds; other work on the machine still makes them longer, as caches are shared.
Run with ``-s`` to see the figures.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import offramp_p4.bench
from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench.filters import SHAPES, TABLE, filters, random_entries, shaped_entries
from offramp_p4.bench.routes import TABLE as ROUTES
from offramp_p4.bench.routes import routes
from offramp_p4.bench.workload import Workload
from offramp_p4.frontend import load
from offramp_p4.native import NativeSwitch
from offramp_p4.native.state.patterns import PatternSearch
from offramp_p4.native.state.tables import NativeTable
from offramp_p4.state import ActionData, EntryBatch, Lpm, TableEntry

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

MILLION = 1_000_000
LIMITS_NS = {("ACL", 100_000): 1_500, ("random masks", 100_000): 20_000}


def per_packet(switch: NativeSwitch, load: Workload, rounds: int = 12) -> float:
    """Nanoseconds of processor."""
    return min(1e9 * timed(lambda: [switch.process(b) for b in load.batches]) / load.packets for _ in range(rounds))


def timed(run: Callable[[], object]) -> float:
    start = time.thread_time()
    run()
    return time.thread_time() - start


@cache
def without_entries() -> float:
    load = filters([], "none", ranges=True, packets=8192)
    return per_packet(NativeSwitch(load.program), load)


@pytest.mark.parametrize("count", [10, 100, 1_000, 10_000, 100_000])
@pytest.mark.parametrize("shape", [*SHAPES, "random masks"])
def test_ternary(shape: str, count: int) -> None:
    ranges = shape in SHAPES
    keys = shaped_entries(SHAPES[shape], count, ranges=True) if ranges else random_entries(count)
    load = filters(keys, shape, ranges=ranges, packets=8192)
    switch = NativeSwitch(load.program)
    inserting = timed(lambda: load.prepare(switch))
    first = timed(lambda: switch.process(PacketBatch.empty()))
    look_up = per_packet(switch, load) - without_entries()
    table = switch.tables[TABLE]
    assert isinstance(table, NativeTable)
    assert isinstance(table._search, PatternSearch)
    index = table._search.index
    print(
        f"\n{shape}, {count:,} entries: {look_up:,.0f} ns a look-up, {count / inserting:,.0f} insertions a second, "
        f"{1e3 * first:.1f} ms before the first packet, {index.nbytes / count:,.0f} B each, "
        f"{index.tuples} tuples, {index.blocks} blocks"
    )
    assert look_up < LIMITS_NS.get((shape, count), float("inf"))


@pytest.fixture
def router() -> NativeSwitch:
    switch = NativeSwitch(load(Path(offramp_p4.bench.__file__).with_name("router.p4")))
    switch.tables[ROUTES].size = MILLION
    return switch


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_a_million_routes(router: NativeSwitch) -> None:
    batch, table = routes(MILLION), router.tables[ROUTES]
    router.process(PacketBatch.empty())
    gc.collect()
    before = resident()
    seconds = timed(lambda: table.insert_all(batch))
    gc.collect()
    each = (resident() - before) / MILLION
    first = timed(lambda: router.process(PacketBatch.empty()))
    print(
        f"\n{MILLION:,} routes: {MILLION / seconds:,.0f} insertions a second in a batch, {each:.0f} B each, "
        f"{1e3 * first:.2f} ms before the first packet"
    )
    assert MILLION / seconds > 500_000
    assert each < 200
    assert first < 0.010


@pytest.fixture
def forwarding(router: NativeSwitch) -> Iterator[list[float]]:
    """Packets run in a thread; the processor seconds of its longest batch, and wall-clock ones."""
    longest, stop = [0.0, 0.0], threading.Event()
    packets = PacketBatch.of([(0, bytes(64))] * 256)

    def go() -> None:
        while not stop.is_set():
            start = time.perf_counter()
            longest[0] = max(longest[0], timed(lambda: router.process(packets)))
            longest[1] = max(longest[1], time.perf_counter() - start)

    thread = threading.Thread(target=go)
    thread.start()
    yield longest
    stop.set()
    thread.join()


@pytest.mark.parametrize("single", [False, True], ids=["a batch", "one by one"])
def test_what_packets_wait_for(router: NativeSwitch, forwarding: list[float], single: bool) -> None:
    count = MILLION // 10 if single else MILLION
    batch, table = routes(count), router.tables[ROUTES]
    start = time.perf_counter()
    if single:
        insert_singly(table.insert, batch)
    else:
        table.insert_all(batch)
    took = time.perf_counter() - start
    print(
        f"\n{count:,} routes {'one by one' if single else 'in a batch'} while packets run: {count / took:,.0f} a second, "
        f"longest batch of 256 packets {1e3 * forwarding[0]:.1f} ms of processor, {1e3 * forwarding[1]:.1f} ms in all"
    )
    assert forwarding[0] < 0.010


def insert_singly(insert: Callable[[TableEntry], None], batch: EntryBatch) -> None:
    (values,), (hops,) = batch.keys, batch.args
    assert batch.lengths is not None
    for value, length, hop in zip(values.tolist(), batch.lengths.tolist(), hops.tolist(), strict=True):
        insert(TableEntry((Lpm(value, length),), ActionData(batch.action, (hop,))))


def test_routes_look_up(router: NativeSwitch) -> None:
    batch, table = routes(MILLION), router.tables[ROUTES]
    table.insert_all(batch)
    draw = np.random.default_rng(3)
    data = np.zeros((16_384, 64), np.uint8)
    data[:, 12:15] = 0x08, 0x00, 0x45
    data[:, 22], data[:, 30:34] = 64, draw.integers(0, 256, (len(data), 4))
    packets = PacketBatch(np.zeros(len(data), np.int32), np.full(len(data), 64, np.int32), data)
    best = min(timed(lambda: router.process(packets)) for _ in range(8))
    print(f"\n{MILLION:,} routes: {1e9 * best / len(data):.0f} ns a packet to random addresses")
