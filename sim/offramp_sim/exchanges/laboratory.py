# SPDX-License-Identifier: Apache-2.0
"""A laboratory of hosts behind rated links of one switch, with a rank on each that makes the exchanges it is given."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.cluster.model import Cluster
from offramp.graph.csr import symmetric_csr
from offramp.graph.data import Graph
from offramp.job.gnn_switches import GnnNetwork
from offramp.job.ranks import RankProcesses
from offramp.job.settings import JobSettings
from offramp.job.transaction import Transaction
from offramp.switchgnn.cost import Rates, save_rates
from offramp.train.job import WorkerJob
from offramp.train.planned import PlannedRun
from offramp.train.settings import TrainSettings
from offramp.train.switch_plans import plan_exchanges
from offramp_base.documents import parse_json, read_text
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import pack
from offramp_sim.exchanges.cell import ExchangeLoad, ExchangeTransport, MapCell, TimedExchanges
from offramp_sim.exchanges.rank import END
from offramp_sim.lab.start import held, possible_mode

if TYPE_CHECKING:
    from offramp.graph.boundary import Boundary

MEMORY: Final = 16_000_000
"""Bytes of the switch's aggregators: all graphs of the map fit."""
_CLUSTER: Final = """\
name: {name}
hosts: [{{name: "h[1-{workers}]"}}]
switches: [{{name: s1, memory: {memory}}}]
links: [{{ends: ["h[1-{workers}]", s1], rate: {rate}}}]
"""
_MOST_S: Final = 600.0
_LAST_S: Final = 10.0
"""Seconds that other ranks have once one has ended."""
_POLL_S: Final = 0.02


@dataclass
class ExchangeLaboratory:
    """Ranks that wait for exchanges.

    Attributes:
        cluster: the laboratory's cluster.
        ranks: a process on each host.
        folder: folder of turns and logs.
    """

    cluster: Cluster
    ranks: RankProcesses
    folder: Path
    turn: int = field(default=0, init=False)

    def time(
        self, boundary: Boundary, cell: MapCell, way: ExchangeTransport, count: int, rates: Rates | None = None
    ) -> TimedExchanges:
        """Plan the exchange, put it on the switch, and make it ``count`` times.

        Args:
            boundary: the cut graph.
            cell: width and bits; number of workers and rate are the laboratory's.
            way: how features travel.
            count: timed exchanges.
            rates: rates for ``auto``.

        Raises:
            OfframpError: a rank or the switch failed.
        """
        network = GnnNetwork.of(self.cluster, self.ranks.hosts)
        planned = self._planned(boundary, cell, way, rates)
        steps = []
        links: list[str] = []
        load, scheme = None, planned.settings.codec
        if planned.exchanges:
            scheme_plan = planned.exchanges[cell.width]
            scheme = f"{scheme_plan.scheme}, {scheme_plan.plan.lanes} lanes" if scheme_plan.through_switch else "p2p"
            load = scheme_plan.packets_up + scheme_plan.packets_down, scheme_plan.passes
            # of a plan that leaves everything to hosts, too: workers still meet at the switch's barrier
            steps = network.steps(planned.plans, random.SystemRandom().randrange(1, 1 << 32))
            links = [link.partition("@")[2] for link in network.links]
        with Transaction() as transaction:
            for step in steps:
                transaction.apply(step)
            report = self._turn(planned.jobs(links), {"width": cell.width, "count": count})
        moved = np.array(report["moved"])
        packets, passes = load or (0, 0)
        return TimedExchanges(
            [float(seconds) for seconds in report["seconds"]],
            ExchangeLoad(
                float(moved[:, :2].max()),
                float(moved[:, :2].sum()),
                max(0.0, float(moved[:, 2].sum()) - packets / 2),
                float(packets),
                float(passes),
            ),
            scheme,
            str(report["digest"]),
        )

    def _planned(self, boundary: Boundary, cell: MapCell, way: ExchangeTransport, rates: Rates | None) -> PlannedRun:
        how: dict[str, object] = {"workers": cell.workers, "hidden": cell.width, "memory": MEMORY, "timeout_s": _MOST_S}
        if way is ExchangeTransport.P2P and cell.bits < 32:
            how |= {"propagator": "p2p", "schedule": "sequential", "bins": 1, "codec": f"q{cell.bits}"}
        elif way is ExchangeTransport.P2P:
            how |= {"propagator": "p2p", "codec": "fixed"}
        else:
            parts = [
                {ExchangeTransport.SWITCH: "paper", ExchangeTransport.HYBRID: "hybrid", ExchangeTransport.AUTO: "auto"}[
                    way
                ]
            ]
            if cell.bits < 32:
                parts = [*(part for part in parts if part != "paper"), f"q{cell.bits}"]
            how |= {"propagator": "switch", "scheme": "+".join(parts)}
            if way is ExchangeTransport.AUTO and rates is not None:
                path = self.folder / "rates.json"
                save_rates(rates, path)
                how["rates"] = str(path)
        settings = TrainSettings(**how)  # type: ignore[arg-type]
        exchanges = plan_exchanges(boundary, settings, [cell.width]) if settings.through_switch else {}
        return PlannedRun(_graph_of(boundary), settings, boundary, exchanges)

    def _turn(self, jobs: list[WorkerJob], settings: dict[str, int]) -> dict[str, list[float]]:
        """Give each rank its job, and wait for rank 0's answer."""
        path = self._write(jobs, json.dumps(settings))
        answer, begun = path.with_suffix(".json"), time.monotonic()
        while not answer.exists():
            self._expect_ranks()
            if time.monotonic() - begun > _MOST_S:
                raise OfframpError(f"exchanges: no answer within {_MOST_S:g} s")
            time.sleep(_POLL_S)
        return dict(parse_json(read_text(answer)))

    def _write(self, jobs: list[WorkerJob], settings: str) -> Path:
        """The folder of a turn, which appears whole."""
        turn_file = self.folder / "turn.part"
        turn_file.mkdir()
        for rank, job in enumerate(jobs):
            (turn_file / f"rank-{rank}.job").write_bytes(pack(job, WorkerJob))
        (turn_file / ("exchanges.json" if jobs else END)).write_text(settings)
        path = turn_file.rename(self.folder / f"turn-{self.turn}")
        self.turn += 1
        return path

    def _expect_ranks(self) -> None:
        for process in self.ranks.processes:
            # not poll(), which would take the exit status that wait() reports
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                self.ranks.wait(_LAST_S)
                raise OfframpError("exchanges: a rank has ended")

    def end(self) -> None:
        """Let the ranks end by themselves."""
        self._write([], "")
        self.ranks.wait(_MOST_S)


@contextmanager
def laboratory(workers: int, rate: str) -> Iterator[ExchangeLaboratory]:
    """Start a laboratory of one switch and a rank on each of its hosts; all end with the block.

    Args:
        workers: number of hosts.
        rate: rate of each link, as a cluster file has it.

    Raises:
        OfframpError: no network namespaces here, or something does not start.
    """
    mode, reason = possible_mode()
    if mode == "sockets":
        raise OfframpError(f"measured links need network namespaces: {reason}")
    with temporary_folder() as temporary:
        folder = Path(temporary)
        path = folder / "cluster.yaml"
        path.write_text(_CLUSTER.format(name=f"exchanges-{os.getpid()}", workers=workers, rate=rate, memory=MEMORY))
        with held(path, mode=mode) as (lab, _):
            cluster = lab.cluster()
            command = (sys.executable, "-m", "offramp_sim.exchanges.rank", str(folder))
            ranks = RankProcesses(JobSettings(name="exchanges", command=command), cluster, cluster.hosts, None, folder)
            ranks.start()
            opened = ExchangeLaboratory(cluster, ranks, folder)
            try:
                yield opened
                opened.end()
            finally:
                ranks.stop()


def _graph_of(boundary: Boundary) -> Graph:
    """The cut graph as training has graphs, with one feature and two classes."""
    n = len(boundary.owner)
    indptr, indices = symmetric_csr(n, *boundary.cut_edges.T)
    whole, none = np.ones(n, np.bool_), np.zeros(n, np.bool_)
    return Graph("random", indptr, indices, np.ones((n, 1), np.float32), np.arange(n) % 2, 2, whole, none, none.copy())
