# SPDX-License-Identifier: Apache-2.0
"""The worker in machine code on ports in shared memory: sums, counts beside the Unix socket's, and a switch that lies.

Skips where no compiler is.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from frames import arrived
from offramp.switchgnn.compiled_worker import CompiledWorker
from offramp.switchgnn.worker_library import available
from offramp_base.errors import OfframpError
from offramp_base.native.ring import SKIP
from offramp_base.transport.shm.io import ShmIO
from offramp_base.transport.shm.rings import RING_BYTES
from offramp_base.transport.unix import UnixIO
from offramp_p4.ports.base import Port
from offramp_p4.ports.shm import ShmPort
from offramp_p4.ports.unix import UnixPort
from offramp_sim.switchgnn.jobs import GraphPlans, random_job
from offramp_sim.switchgnn.reference import ReferenceSwitch

pytestmark = pytest.mark.skipif(not available(), reason="needs cmake, ninja-build and g++")
pytest.importorskip("llvmlite")
FIRST = 16
"""The word of a ring where entries begin."""


@contextmanager
def switch_of(ports: dict[int, Port], job: GraphPlans) -> Iterator[None]:
    """The reference switch behind these ports, in a thread."""
    reference, ended = ReferenceSwitch(job.plans, job.ports), threading.Event()

    def run() -> None:
        while not ended.is_set():
            poll, owners = select.poll(), {}
            for number, port in ports.items():
                for descriptor, events in port.interest():
                    poll.register(descriptor, events)
                    owners[descriptor] = number
            for port in ports.values():
                port.rest()
            for descriptor, _ in poll.poll(50):
                number = owners[descriptor]
                if not len(batch := arrived(ports[number])):
                    continue
                batch.ports[:] = number
                out = reference.process(batch)
                for other, port in ports.items():
                    if len(rows := np.flatnonzero(out.ports == other)):
                        port.send(out, rows)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        for port in ports.values():
            port.close()


def at_once(workers: list[CompiledWorker], work) -> list:
    results: list = [None] * len(workers)

    def one(at: int) -> None:
        try:
            results[at] = work(workers[at])
        except OfframpError as error:
            results[at] = str(error)

    threads = [threading.Thread(target=one, args=(at,)) for at in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def job_of(lanes: int) -> GraphPlans:
    return random_job(1, vertices=40, edges=120, workers=4, limit=12, features=(5, 300), lanes=lanes)


@pytest.mark.parametrize("lanes", [32, 128])
def test_sums_and_counts_are_those_over_a_socket(tmp_path: Path, lanes: int) -> None:
    job, stats = job_of(lanes), {}
    for kind, make, io in (("unix", UnixPort, UnixIO), ("shm", ShmPort, ShmIO)):
        paths = [tmp_path / f"{kind}{port}" for port in job.ports]
        ports: dict[int, Port] = {port: make(path) for port, path in zip(job.ports, paths, strict=True)}
        with switch_of(ports, job):
            workers = [CompiledWorker(rank, job.plans, io(path), 30.0) for rank, path in enumerate(paths)]
            at_once(workers, lambda worker: worker.start())
            rng = np.random.default_rng(7)
            for _ in range(2):
                for plan, width in enumerate((5, 300)):
                    x = rng.integers(-(2**24), 2**24, (40, width)).astype(np.int32)
                    expected = job.expected(x)
                    got = at_once(
                        workers, lambda worker, plan=plan, x=x: worker.exchange(plan, x[worker.boundary(plan)])
                    )
                    for worker, sums in zip(workers, got, strict=True):
                        assert np.array_equal(sums, expected[worker.boundary(plan)]), sums
            stats[kind] = [(w.stats.up.data_packets, w.stats.down.payload_bytes, w.stats.results) for w in workers]
            for worker in workers:
                assert "_rings" not in vars(worker._io)  # what moves frames in Python is not loaded
                worker.close()
    assert stats["unix"] == stats["shm"]


LIES = {
    "a head beyond the ring": (0, RING_BYTES + 8),
    "a head that is not a multiple": (0, 12),
    "an entry of negative length": (FIRST, -2),
    "an entry that is too long": (FIRST, 1 << 40),
    "an end at once": (FIRST, SKIP),
    "too many frames": (FIRST + 1, 1 << 62),
    "frames without bytes": (FIRST + 1, 7),
}


@pytest.mark.parametrize(("word", "value"), LIES.values(), ids=list(LIES))
def test_a_switch_that_lies_ends_the_worker_with_one_line(tmp_path: Path, word: int, value: int) -> None:
    job = job_of(32)
    ports: dict[int, Port] = {job.ports[0]: ShmPort(tmp_path / "port")}
    with switch_of(ports, job):
        io = ShmIO(tmp_path / "port")
        with closing(CompiledWorker(0, job.plans, io, 5.0)) as worker:
            down = io.memory.words[FIRST + RING_BYTES // 8 :]
            down[FIRST], down[FIRST + 1], down[0] = 8, 1, 48
            down[word] = value
            with pytest.raises(OfframpError) as failure:
                worker.start()
    assert str(failure.value) == f"shm:{tmp_path}/port: the switch spoilt the link"


def test_a_tail_that_cannot_be_ends_the_worker(tmp_path: Path) -> None:
    job = job_of(32)
    ports: dict[int, Port] = {job.ports[0]: ShmPort(tmp_path / "port")}
    with switch_of(ports, job):
        io = ShmIO(tmp_path / "port")
        io.memory.words[8] = 1 << 40
        with (
            closing(CompiledWorker(0, job.plans, io, 5.0)) as worker,
            pytest.raises(OfframpError, match="the switch spoilt the link"),
        ):
            worker.start()


def test_a_switch_that_goes_ends_the_worker(tmp_path: Path) -> None:
    job = job_of(32)
    port = ShmPort(tmp_path / "port")
    with switch_of({job.ports[0]: port}, job):
        io = ShmIO(tmp_path / "port")
    with (
        closing(CompiledWorker(0, job.plans, io, 5.0)) as worker,
        pytest.raises(OfframpError, match="the switch closed the link"),
    ):
        worker.start()
