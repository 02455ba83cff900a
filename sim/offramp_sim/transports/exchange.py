# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's exchange through the embedded switch, four worker processes, over each transport."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp_base.ending.children import ends_with_parent
from offramp_base.transport.links import TRANSPORTS
from offramp_p4.bench.namespace import in_namespace
from offramp_p4.embedded import EmbeddedSwitch
from offramp_sim.peers import answers, ask, peers

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import numpy.typing as npt

    from offramp_sim.switchgnn.jobs import GraphPlans

WORKERS: Final = 4
FEATURES: Final = 64
_START_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """A measurement: ``exchanges`` of all workers in ``seconds``, with ``frames`` on all links, both ways.

    ``lost`` frames are those that the workers' ends of the links noticed; ``median_s`` is the time of one exchange.
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
    """Exchange 64 features of a random graph's boundary vertices repeatedly, and check the sums.

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


def _run(
    transport: str, links: list[str], job: GraphPlans, features: npt.NDArray[np.int32], seconds: float
) -> ExchangeRate:
    patience, what = _START_S + 10 * seconds, f"exchange over {transport}"
    expected = job.expected(features)
    work = [(index, link, job.plans, features, expected) for index, link in enumerate(links)]
    with peers(_worker, work) as group:
        answers(group, what, patience)  # all links are open
        ask(group, True, what, patience)
        times: list[float] = []
        while not times or sum(times) < seconds:
            times.append(max(ask(group, True, what, patience)))
        counts = ask(group, False, what, patience)
    frames, lost = (sum(count[at] for count in counts) for at in (0, 1))
    return ExchangeRate(transport, len(times), sum(times), float(np.median(times)), frames, lost)


def _worker(
    pipe: Connection,
    index: int,
    link: str,
    plans: Any,
    features: npt.NDArray[np.int32],
    expected: npt.NDArray[np.int64],
) -> None:
    """Run one worker: it sends the seconds of each step, then frames on its link and frames lost there; or an error."""
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
    except Exception as error:  # the parent must learn of any failure
        pipe.send(f"worker {index}: {str(error) or type(error).__name__}")
