"""SwitchGNN's exchange through the embedded switch, four worker processes, over each transport."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp.errors import OfframpError
from offramp.transport.links import TRANSPORTS
from offramp_sim.p4.bench.namespace import in_namespace
from offramp_sim.p4.embedded import EmbeddedSwitch

if TYPE_CHECKING:
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
    from offramp.switch.p4rt.session import Session
    from offramp.switch.switchgnn.control import SwitchGnnControl, sizes_for
    from offramp_sim.switchgnn.jobs import random_job

    job = random_job(seed, vertices=vertices, edges=5 * vertices, workers=WORKERS, limit=vertices, features=(FEATURES,))
    features = np.random.default_rng(seed).integers(-(2**20), 2**20, (vertices, FEATURES)).astype(np.int32)
    with EmbeddedSwitch(None, job.ports, transport=transport) as switch, Session(switch.address) as session:
        session.push(b"", p4_text("switchgnn/v1model.p4", sizes_for(job.plans)).encode())
        SwitchGnnControl(session).load(job.plans, job.ports)
        return _run(transport, switch.port_specs, job, features, seconds)


def _run(transport: str, links: list[str], job: Job, features: npt.NDArray[np.int32], seconds: float) -> ExchangeRate:
    context = multiprocessing.get_context("spawn")  # the child belongs to this thread's namespace
    results: Any = context.Queue()
    together = context.Barrier(WORKERS)
    rounds = context.Value("i", 0)
    expected = job.expected(features)
    workers = [
        context.Process(
            target=_worker, args=(index, link, job.plans, features, expected, seconds, together, rounds, results)
        )
        for index, link in enumerate(links)
    ]
    for worker in workers:
        worker.start()
    try:
        outcomes = [results.get(timeout=_START_S + 10 * seconds) for _ in workers]
    finally:
        for worker in workers:  # each has delivered, or is of no more use
            worker.kill()
    faults = [outcome for outcome in outcomes if isinstance(outcome, str)]
    if faults:
        raise OfframpError(f"exchange over {transport}: {faults[0]}")
    times = np.array([took for took, _, _ in outcomes]).max(axis=0)
    frames, lost = (sum(outcome[at] for outcome in outcomes) for at in (1, 2))
    return ExchangeRate(transport, len(times), float(times.sum()), float(np.median(times)), frames, lost)


def _worker(
    index: int,
    link: str,
    plans: Any,
    features: npt.NDArray[np.int32],
    expected: npt.NDArray[np.int64],
    seconds: float,
    together: Any,
    rounds: Any,
    results: Any,
) -> None:
    """One worker: seconds of each exchange, frames on its link, frames lost there; or what went wrong."""
    from offramp.switch.switchgnn.worker import Worker
    from offramp.transport import open_io

    try:
        with closing(open_io(link)) as io:
            worker = Worker(index, plans, io)
            together.wait(_START_S)
            worker.start()
            rows = worker.boundary(0)
            before = worker.stats.up.packets + worker.stats.down.packets
            times: list[float] = []
            right = True
            while _another(index, seconds, times, together, rounds):
                start = time.perf_counter()
                sums = worker.exchange(0, features[rows])
                times.append(time.perf_counter() - start)
                right = right and np.array_equal(sums, expected[rows])
            results.put(
                f"worker {index}: wrong sums"
                if not right
                else (times, worker.stats.up.packets + worker.stats.down.packets - before, io.stats.lost)
            )
    except Exception as error:  # whatever it is, the parent must hear of it
        together.abort()
        results.put(str(error) or type(error).__name__)


def _another(index: int, seconds: float, times: list[float], together: Any, rounds: Any) -> bool:
    """Whether all do one more exchange: the first worker decides for them."""
    if index == 0:
        rounds.value = not times or sum(times) < seconds
    together.wait(_START_S)
    go = bool(rounds.value)
    together.wait(_START_S)
    return go
