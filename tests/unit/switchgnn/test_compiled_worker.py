# SPDX-License-Identifier: Apache-2.0
"""The worker in machine code on Unix sockets of a switch in Python: sums, counts beside the other worker's, and errors.

Skips where no compiler is. Blind to a switch that holds back, which the embedded one's tests have.
"""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from offramp.switchgnn.compiled_worker import CompiledWorker
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.worker import Worker
from offramp.switchgnn.worker_library import available
from offramp.switchgnn.worker_link import open_worker
from offramp_base.errors import OfframpError
from offramp_base.transport.faulty import FaultRates
from offramp_base.transport.framing import pack, unpack
from offramp_base.transport.unix import UnixIO
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import GraphPlans, random_job
from offramp_sim.switchgnn.reference import ReferenceSwitch
from switchgnn_channel import UnrulyChannel

pytestmark = pytest.mark.skipif(not available(), reason="needs cmake, ninja-build and g++")

Spoil = Callable[[PacketBatch], PacketBatch]


def _alike(batch: PacketBatch) -> PacketBatch:
    return batch


class Ports:
    """The reference switch behind a Unix socket for each worker; ``up`` and ``down`` are what befalls frames."""

    def __init__(
        self, folder: Path, job: GraphPlans, up: Spoil = _alike, down: Spoil = _alike, *, acks: bool = False
    ) -> None:
        self.paths = [folder / f"{worker}" for worker in range(len(job.ports))]
        self.hosts: dict[int, socket.socket] = {}
        self._listeners = []
        for path in self.paths:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(str(path))
            listener.listen(1)
            self._listeners.append(listener)
        self._switch, self._job = ReferenceSwitch(job.plans, job.ports, acks=acks), job
        self._up, self._down = up, down
        self._lock = threading.Lock()
        for worker in range(len(job.ports)):
            threading.Thread(target=self._serve, args=(worker,), daemon=True).start()

    def _serve(self, worker: int) -> None:
        host, _ = self._listeners[worker].accept()
        self.hosts[self._job.ports[worker]] = host
        while message := _received(host):
            batch = unpack(message)
            batch.ports[:] = self._job.ports[worker]
            with self._lock:
                out = self._down(self._switch.process(self._up(batch)))
                for port, each in self.hosts.items():
                    rows = np.flatnonzero(out.ports == port)
                    with suppress(OSError):  # a worker that has ended
                        for reply in pack(out.select(rows)):
                            each.send(reply)

    def close(self) -> None:
        for each in [*self._listeners, *self.hosts.values()]:
            each.close()


def _received(host: socket.socket) -> bytes:
    try:
        return host.recv(1 << 20)
    except OSError:
        return b""


@contextmanager
def workers_of(ports: Ports, job: GraphPlans, **options) -> Iterator[list[CompiledWorker]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(closing(CompiledWorker(worker, job.plans, UnixIO(path), **options)))
            for worker, path in enumerate(ports.paths)
        ]


@contextmanager
def running(folder: Path, job: GraphPlans, **options) -> Iterator[list[CompiledWorker]]:
    with closing(Ports(folder, job)) as ports, workers_of(ports, job, **options) as workers:
        yield workers


def at_once(workers: list, work: Callable) -> list:
    """Results of ``work`` for each worker, all in threads of their own."""
    results: list = [None] * len(workers)

    def one(at: int) -> None:
        try:
            results[at] = work(workers[at], at)
        except OfframpError as error:
            results[at] = error

    threads = [threading.Thread(target=one, args=(at,)) for at in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def job_of(seed: int, lanes: int = 32, features: tuple[int, ...] = (5, 40, 300)) -> GraphPlans:
    return random_job(seed, vertices=40, edges=120, workers=4, limit=12, features=features, lanes=lanes)


def exchange_all(job: GraphPlans, workers: list, widths: tuple[int, ...] = (5, 40, 300)) -> None:
    at_once(workers, lambda worker, _: worker.start())
    rng = np.random.default_rng(7)
    for plan, width in enumerate(widths):
        x = rng.integers(-(2**24), 2**24, (len(job.boundary.owner), width)).astype(np.int32)
        expected = job.expected(x)
        got = at_once(workers, lambda worker, _, plan=plan, x=x: worker.exchange(plan, x[worker.boundary(plan)]))
        for worker, sums in zip(workers, got, strict=True):
            assert np.array_equal(sums, expected[worker.boundary(plan)]), sums


@pytest.mark.parametrize("lanes", [32, 64, 128])
def test_sums_and_counts_are_the_other_workers(tmp_path: Path, lanes: int) -> None:
    job = job_of(1, lanes)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with running(tmp_path / "a", job) as workers:
        exchange_all(job, workers)
        compiled = [(worker.stats, worker.link) for worker in workers]
    with closing(Ports(tmp_path / "b", job)) as ports, ExitStack() as stack:
        links = [stack.enter_context(closing(UnixIO(path))) for path in ports.paths]
        others = [Worker(rank, job.plans, link) for rank, link in enumerate(links)]
        exchange_all(job, others)
        plain = [(worker.stats, worker.link) for worker in others]
    assert [stats for stats, _ in compiled] == [stats for stats, _ in plain]
    assert [(link.received, link.sent) for _, link in compiled] == [(link.received, link.sent) for _, link in plain]


@pytest.mark.full
@pytest.mark.parametrize("acks", [False, True])
def test_sums_are_exact_over_faults(tmp_path: Path, acks: bool) -> None:
    up, down = (UnrulyChannel(seed, 0.05, 0.1, 0.05) for seed in range(2))
    job = job_of(1, 64)
    recovery = Recovery(0.02, 0.1, acks=acks, reupload=acks)
    with (
        closing(Ports(tmp_path, job, up, down, acks=acks)) as ports,
        workers_of(ports, job, recovery=recovery) as workers,
    ):
        exchange_all(job, workers)
        assert sum(worker.stats.fetches for worker in workers) > 0
        assert all(worker.stats.rejected == worker.stats.foreign == 0 for worker in workers)


def test_messages_that_are_none_are_counted_and_change_nothing(tmp_path: Path) -> None:
    job = job_of(2)
    with closing(Ports(tmp_path, job)) as ports, workers_of(ports, job) as workers:
        while len(ports.hosts) < len(workers):
            time.sleep(0.01)
        short = b"\0\0\0\2\0\x32\0\x32" + bytes(99)
        bad = [b"x", bytes(3), b"\xff\xff\xff\xff" + bytes(60), short, b"\0\0\0\1\0\x05abcd"]
        for host in ports.hosts.values():
            for message in bad:
                host.send(message)
        exchange_all(job, workers)
        assert all(worker.link.malformed == len(bad) for worker in workers)


def test_a_switch_that_goes_ends_all(tmp_path: Path) -> None:
    job = job_of(3)
    with closing(Ports(tmp_path, job)) as ports, workers_of(ports, job) as workers:
        while not ports.hosts:
            time.sleep(0.01)

        def leave() -> None:
            for host in ports.hosts.values():
                with suppress(OSError):  # the test may be over with the first of them
                    host.shutdown(socket.SHUT_RDWR)

        threading.Timer(0.2, leave).start()
        with pytest.raises(OfframpError, match="the switch closed the link"):
            workers[0].start()


def test_silence_is_an_error_that_says_what_is_missing(tmp_path: Path) -> None:
    job = job_of(4)
    with running(tmp_path, job, timeout_s=0.5) as workers:
        at_once(workers, lambda worker, _: worker.start())
        x = np.zeros((40, 5), np.int32)
        failed = at_once(workers, lambda worker, at: "absent" if at == 0 else worker.exchange(0, x[worker.boundary(0)]))
    assert failed[0] == "absent"
    text = (
        r"worker 1: nothing new for 0.5 s in block \d+, round 1: \d+ of \d+ results are missing \(of vertices \d+.*\)"
    )
    with pytest.raises(OfframpError, match=text):
        raise failed[1]


def test_what_is_no_exchange_is_refused(tmp_path: Path) -> None:
    job = job_of(5)
    with running(tmp_path, job) as workers:
        worker, rows = workers[0], len(workers[0].boundary(0))
        for plan, values, what in (
            (3, np.zeros((rows, 5), np.int32), "plan 3: expected 0 to 2"),
            (0, np.zeros((rows + 1, 5), np.int32), f"expected {rows} rows of at most 32 features"),
            (0, np.zeros((rows, 33), np.int32), f"expected {rows} rows of at most 32 features"),
            (0, np.zeros((rows, 5), np.int64), "expected int32, got int64"),
        ):
            with pytest.raises(OfframpError, match=what):
                worker.exchange(plan, values)


def test_a_signal_is_heard_while_a_worker_waits(tmp_path: Path) -> None:
    class Rung(Exception):
        pass

    def ring(*_: object) -> None:
        raise Rung

    job = job_of(6)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with running(tmp_path, job, timeout_s=30) as workers:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Rung):
                workers[0].start()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_which_links_have_it(tmp_path: Path) -> None:
    job = job_of(8)
    with closing(Ports(tmp_path, job)) as ports, ExitStack() as stack:
        links = [f"unix:{path}" for path in ports.paths]
        assert isinstance(open_worker(0, job.plans, links[0], stack, 1.0), CompiledWorker)
        assert isinstance(open_worker(1, job.plans, links[1], stack, 1.0, gap_s=0.001), Worker)
        assert isinstance(open_worker(2, job.plans, links[2], stack, 1.0, faults=FaultRates(loss=0.1)), Worker)
