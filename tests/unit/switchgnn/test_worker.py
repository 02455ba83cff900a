# SPDX-License-Identifier: Apache-2.0
"""Workers in threads, linked to the reference switch by in-process links."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from offramp.switchgnn.compiled_endpoint import CompiledSwitchGnnEndpoint
from offramp.switchgnn.endpoint import SwitchGnnEndpoint
from offramp.switchgnn.worker import Worker
from offramp.switchgnn.worker_library import available
from offramp_base.errors import OfframpError
from offramp_base.transport.base import FrameIO
from offramp_base.transport.faulty import FaultRates, Faulty
from offramp_base.transport.memory import pair
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import GraphPlans, random_job, six_vertices
from offramp_sim.switchgnn.reference import ReferenceSwitch

Serve = Callable[[GraphPlans], list[FrameIO]]
Makes = Callable[..., Worker]


@pytest.fixture(params=["machine code", "Python", "in turns"])
def make_worker(request: pytest.FixtureRequest) -> Makes:
    """Makes workers that run the protocol in machine code, in Python, or in either in turns, on the same switch."""
    engines = {
        "machine code": [CompiledSwitchGnnEndpoint],
        "Python": [SwitchGnnEndpoint],
        "in turns": [CompiledSwitchGnnEndpoint, SwitchGnnEndpoint],
    }
    if request.param != "Python" and not available():
        pytest.skip("needs a C++ compiler and cmake")
    turns = itertools.cycle(engines[request.param])

    def make(*arguments: Any, **options: Any) -> Worker:
        return Worker(*arguments, **options, engine=next(turns))

    return make


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts the reference switch for a job in a thread; gives the workers' ends of its links."""
    stop = threading.Event()
    threads = []

    def start(job: GraphPlans) -> list[FrameIO]:
        switch = ReferenceSwitch(job.plans, job.ports)
        links = [pair() for _ in job.ports]

        def run() -> None:
            while not stop.is_set():
                batches = [end.receive(0.0005) for _, end in links]
                for port, batch in zip(job.ports, batches, strict=True):
                    batch.ports[:] = port
                out = switch.process(PacketBatch.concatenate(batches))
                for port, (_, end) in zip(job.ports, links, strict=True):
                    end.send(out.select(out.ports == port))

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return [worker_end for worker_end, _ in links]

    yield start
    stop.set()
    for thread in threads:
        thread.join()


def run_all(workers: list[Worker], x: np.ndarray) -> list[np.ndarray]:
    def run(worker: Worker) -> np.ndarray:
        worker.start()
        for _ in range(3):
            sums = worker.exchange(0, x[worker.boundary(0)])
        return sums

    with ThreadPoolExecutor(len(workers)) as pool:
        return list(pool.map(run, workers))


@pytest.mark.parametrize("window", [1, 7, 256])
def test_exchanges(serve: Serve, make_worker: Makes, window: int) -> None:
    job = random_job(5, vertices=40, edges=160, workers=4, limit=10, features=(40,))
    workers = [make_worker(i, job.plans, io, window=window) for i, io in enumerate(serve(job))]
    x = np.random.default_rng(0).integers(-(2**24), 2**24, (40, 40)).astype(np.int32)
    expected = job.expected(x)
    for worker, sums in zip(workers, run_all(workers, x), strict=True):
        assert np.array_equal(sums, expected[worker.boundary(0)])
        own = sum(int((b.owner == worker.endpoint.index).sum()) for b in job.plans[0].blocks)
        for link in (worker.stats.up, worker.stats.down):
            assert link.data_packets == 3 * own * 2
            assert link.payload_bytes == 3 * own * 40 * 4


def test_faulty_links_that_lose_nothing(serve: Serve, make_worker: Makes) -> None:
    job = random_job(6, vertices=30, edges=90, workers=3, limit=6)
    faults = FaultRates(duplication=0.3, reordering=0.3)
    workers = [
        make_worker(i, job.plans, Faulty(io, seed=i, sending=faults, receiving=faults))
        for i, io in enumerate(serve(job))
    ]
    x = np.random.default_rng(0).integers(-100, 100, (30, 8)).astype(np.int32)
    expected = job.expected(x)
    for worker, sums in zip(workers, run_all(workers, x), strict=True):
        assert np.array_equal(sums, expected[worker.boundary(0)])


def test_done_and_go_may_be_lost(serve: Serve, make_worker: Makes) -> None:
    class LosesFirstShort:
        """Loses the first DONE that goes out and the first GO that comes in."""

        def __init__(self, inner: FrameIO) -> None:
            self._inner = inner
            self._kept = {"out": 0, "in": 0}

        def _lose(self, batch: PacketBatch, way: str) -> PacketBatch:
            keep = np.ones(len(batch), np.bool_)
            for i in np.flatnonzero(batch.lengths < 178):
                keep[i] = self._kept[way] > 0
                self._kept[way] += 1
            return batch.select(keep)

        def send(self, batch: PacketBatch) -> None:
            self._inner.send(self._lose(batch, "out"))

        def receive(self, timeout_s: float) -> PacketBatch:
            return self._lose(self._inner.receive(timeout_s), "in")

        def close(self) -> None:
            self._inner.close()

    job = six_vertices()
    workers = [make_worker(i, job.plans, LosesFirstShort(io)) for i, io in enumerate(serve(job))]
    x = np.array([[3], [-1], [10], [4], [-7], [2]], np.int32)
    assert [s[:, 0].tolist() for s in run_all(workers, x)] == [[7, 12], [-5, 5], [13, 3]]


def test_a_worker_that_is_alone_says_so(serve: Serve, make_worker: Makes) -> None:
    job = six_vertices()
    worker = make_worker(1, job.plans, serve(job)[1], timeout_s=0.3)
    began = time.monotonic()
    with pytest.raises(
        OfframpError,
        match=r"worker 1: nothing new for 0\.3 s in round 0: no GO, so not every worker has joined; check that",
    ):
        worker.start()
    assert time.monotonic() - began < 2


def test_missing_results_are_named(serve: Serve, make_worker: Makes) -> None:
    class LosesData:
        def __init__(self, inner: FrameIO) -> None:
            self._inner = inner

        def send(self, batch: PacketBatch) -> None:
            self._inner.send(batch.select(batch.lengths < 178))

        def receive(self, timeout_s: float) -> PacketBatch:
            return self._inner.receive(timeout_s)

        def close(self) -> None:
            self._inner.close()

    job = six_vertices()
    links = serve(job)
    links[0] = LosesData(links[0])
    workers = [make_worker(i, job.plans, io, timeout_s=0.5) for i, io in enumerate(links)]
    x = np.ones((6, 1), np.int32)
    messages = []

    def run(worker: Worker) -> None:
        worker.start()
        try:
            worker.exchange(0, x[worker.boundary(0)])
        except OfframpError as error:
            messages.append(str(error))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run, workers))
    assert any(
        m.startswith(
            "worker 1: nothing new for 0.5 s in block 0, round 1: 2 of 2 results are missing (of vertices 2, 3);"
        )
        for m in messages
    )
