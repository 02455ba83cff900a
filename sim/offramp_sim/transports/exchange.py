# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's exchange through the embedded switch, four worker processes, over each transport."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from offramp_base.ending.children import ended_as, ends_with_parent
from offramp_base.errors import OfframpError
from offramp_base.transport.links import TRANSPORTS
from offramp_p4.bench.namespace import in_namespace
from offramp_p4.embedded import EmbeddedSwitch

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    import numpy.typing as npt

    from offramp_sim.switchgnn.jobs import Job

WORKERS: Final = 4
FEATURES: Final = 64
_START_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """What was measured: ``exchanges`` of all workers in ``seconds``, with ``frames`` on all links, both ways.

    ``lost`` frames are those that the workers' ends of the links know of; ``median_s`` is the time of one exchange.
    """

    transport: str
    exchanges: int
    seconds: float
    median_s: float
    frames: int
    lost: int

    @property
    def frames_per_s(self) -> float:
        """Frames on all links, both ways."""
        return self.frames / self.seconds


def measure_exchange(transport: str, seconds: float, *, vertices: int = 800, seed: int = 0) -> ExchangeRate:
    """Exchange 64 features of a random graph's boundary vertices again and again; the sums are compared.

    Raises:
        OfframpError: no right to make interfaces, or a wrong sum.
    """
    if TRANSPORTS[transport].on_interface:
        return in_namespace(lambda: _measure(transport, seconds, vertices, seed))
    return _measure(transport, seconds, vertices, seed)


def _measure(transport: str, seconds: float, vertices: int, seed: int) -> ExchangeRate:
    from offramp.p4src import p4_text
    from offramp.switchgnn.control import SwitchGnnControl, sizes_for
    from offramp_base.p4rt.session import Session
    from offramp_sim.switchgnn.jobs import random_job

    job = random_job(seed, vertices=vertices, edges=5 * vertices, workers=WORKERS, limit=vertices, features=(FEATURES,))
    features = np.random.default_rng(seed).integers(-(2**20), 2**20, (vertices, FEATURES)).astype(np.int32)
    with EmbeddedSwitch(None, job.ports, transport=transport) as switch, Session(switch.address) as session:
        session.push(b"", p4_text("switchgnn/v1model.p4", sizes_for(job.plans)).encode())
        SwitchGnnControl(session).load(job.plans, job.ports)
        return _run(transport, switch.port_specs, job, features, seconds)


class _Peer(NamedTuple):
    """A worker process, and the pipe to it."""

    process: BaseProcess
    pipe: Connection


def _run(transport: str, links: list[str], job: Job, features: npt.NDArray[np.int32], seconds: float) -> ExchangeRate:
    patience = _START_S + 10 * seconds
    with _workers(links, job, features) as peers:
        _answers(peers, transport, patience)  # all links are open
        _ask(peers, True, transport, patience)
        times: list[float] = []
        while not times or sum(times) < seconds:
            times.append(max(_ask(peers, True, transport, patience)))
        counts = _ask(peers, False, transport, patience)
    frames, lost = (sum(count[at] for count in counts) for at in (0, 1))
    return ExchangeRate(transport, len(times), sum(times), float(np.median(times)), frames, lost)


@contextmanager
def _workers(links: list[str], job: Job, features: npt.NDArray[np.int32]) -> Iterator[list[_Peer]]:
    """A process for each link; pipes hold them together, for a kill would leave semaphores behind."""
    context = multiprocessing.get_context("spawn")  # the child belongs to this thread's namespace
    expected = job.expected(features)
    peers: list[_Peer] = []
    try:
        for index, link in enumerate(links):
            ours, theirs = context.Pipe()
            work = (theirs, index, link, job.plans, features, expected)
            process = context.Process(target=_worker, args=work, daemon=True)
            process.start()
            theirs.close()
            peers.append(_Peer(process, ours))
        yield peers
    finally:
        for peer in peers:  # each has delivered, or is of no more use
            peer.process.kill()
            peer.process.join()
            peer.pipe.close()


def _ask(peers: list[_Peer], more: bool, transport: str, timeout_s: float) -> list[Any]:
    """Let all workers do one more step, or say what they have counted; their answers."""
    for peer in peers:
        with suppress(BrokenPipeError):  # its answer says why
            peer.pipe.send(more)
    return _answers(peers, transport, timeout_s)


def _answers(peers: list[_Peer], transport: str, timeout_s: float) -> list[Any]:
    """One answer of each worker.

    Raises:
        OfframpError: a worker failed, died or does not answer.
    """
    pending = {peer.pipe: index for index, peer in enumerate(peers)}
    answers: dict[int, Any] = {}
    deadline = time.monotonic() + timeout_s
    while pending:
        heard = wait(list(pending), max(0.0, deadline - time.monotonic()))
        if not heard:
            raise OfframpError(f"exchange over {transport}: worker {min(pending.values())} does not answer")
        for pipe in heard:
            assert isinstance(pipe, Connection)
            index = pending.pop(pipe)
            try:
                answers[index] = pipe.recv()
            except (EOFError, ConnectionError):
                peers[index].process.join()
                died = ended_as(f"worker {index}", peers[index].process.exitcode)
                raise OfframpError(f"exchange over {transport}: {died}") from None
            if isinstance(answers[index], str):
                raise OfframpError(f"exchange over {transport}: {answers[index]}")
    return [answers[index] for index in range(len(peers))]


def _worker(
    pipe: Connection,
    index: int,
    link: str,
    plans: Any,
    features: npt.NDArray[np.int32],
    expected: npt.NDArray[np.int64],
) -> None:
    """One worker: seconds of each step, then frames on its link and frames lost there; or what went wrong."""
    from offramp.switchgnn.worker import Worker
    from offramp_base.transport import open_io

    ends_with_parent()
    try:
        with closing(open_io(link)) as io:
            worker = Worker(index, plans, io)
            pipe.send(0.0)
            pipe.recv()
            worker.start()
            rows = worker.boundary(0)
            before = worker.stats.up.packets + worker.stats.down.packets
            pipe.send(0.0)
            while pipe.recv():
                start = time.perf_counter()
                sums = worker.exchange(0, features[rows])
                took = time.perf_counter() - start
                pipe.send(took if np.array_equal(sums, expected[rows]) else f"worker {index}: wrong sums")
            pipe.send((worker.stats.up.packets + worker.stats.down.packets - before, io.stats.lost))
    except Exception as error:  # whatever it is, the parent must hear of it
        pipe.send(f"worker {index}: {str(error) or type(error).__name__}")
