# SPDX-License-Identifier: Apache-2.0
"""Jobs of full-graph training: the ways by which boundary features travel, and the cost of each in an epoch.

Bytes follow from the partition alone (:mod:`offramp.switchgnn.volume`). Computation, and its overlap with
communication, must be calibrated: the same training runs for a few epochs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from offramp.job.floor import PASS_S, StepTraffic
from offramp.job.gnn_switches import GnnNetwork, GnnOnSwitch
from offramp.job.kind import KINDS, Deployment, JobStart, PlacedJob
from offramp.job.kinds.sums import deployment as deployment_of_sums
from offramp.job.network import Admitted, ReductionNetwork, network_text
from offramp.job.shared_program import part_of_switchgnn, refuse_tofino
from offramp.job.training import Training, lossless
from offramp.switchgnn.cost import loads
from offramp_base.errors import OfframpError
from offramp_base.settings.document import read_settings

if TYPE_CHECKING:
    from offramp.train.planned import PlannedRun
    from offramp.train.settings import TrainSettings

_FLOAT_BYTES: Final = 4
_LOSSY_BITS: Final = 8
"""Most bits of a value that Sylvie's codec sends; predictions assume them."""


class FeatureTransport(StrEnum):
    """The way in which boundary features travel."""

    P2P = "p2p"
    G3 = "g3"
    G3_SYLVIE = "g3+sylvie"
    SWITCH = "switchgnn"
    SWITCH_Q8 = "switchgnn+q8"
    SWITCH_SUMS = "switchgnn+allreduce"


SWITCHES: Final = (FeatureTransport.SWITCH, FeatureTransport.SWITCH_Q8, FeatureTransport.SWITCH_SUMS)
"""Ways through switches; by the last one switches sum gradients, too."""


@KINDS.register("train")
class FullGraph(Training):
    """Jobs of ``offramp train``."""

    words = ("train",)
    ways = tuple(FeatureTransport)
    options: ClassVar = {
        FeatureTransport.P2P: {"propagator": "p2p"},
        FeatureTransport.G3: {"propagator": "p2p", "schedule": "g3"},
        FeatureTransport.G3_SYLVIE: {"propagator": "p2p", "schedule": "g3", "codec": "sylvie"},
        FeatureTransport.SWITCH: {"propagator": "switch"},
        FeatureTransport.SWITCH_Q8: {"propagator": "switch", "scheme": "q8"},
        FeatureTransport.SWITCH_SUMS: {"propagator": "switch"},
    }
    lossy = frozenset({FeatureTransport.G3_SYLVIE, FeatureTransport.SWITCH_Q8})

    def __init__(self) -> None:
        self._planned: dict[str, PlannedRun] = {}

    @cached_property
    def settings_class(self) -> type[TrainSettings]:
        """The settings of ``offramp train``."""
        from offramp.train.settings import TrainSettings

        return TrainSettings

    def network_options(self, placed: PlacedJob, way: str) -> dict[str, Any]:
        """Memory of the switches, leaves and spines if there are any, and the links' rate where the scheme is chosen.

        Empty for ways without switches.
        """
        if way not in SWITCHES:
            return {}
        network = GnnNetwork.of(placed.cluster, placed.hosts)
        memory = min(switch.memory for switch in network.switches)
        if placed.job.shares or way == FeatureTransport.SWITCH_SUMS:
            memory = part_of_switchgnn(memory)
        return (
            {"memory": memory}
            | ({"racks": network.racks.leaves, "spines": network.racks.spines} if network.racks else {})
            | self._rates(placed, way)
        )

    def _rates(self, placed: PlacedJob, way: str) -> dict[str, str]:
        """The rate under which ``auto`` chooses, unless the job's file names rates or the way has a scheme."""
        assert placed.job.file is not None
        file_settings = read_settings(placed.job.file, (self.settings_class,))
        scheme = self.options[way].get("scheme") or (file_settings["scheme"].value if "scheme" in file_settings else "")
        if "auto" not in str(scheme).split("+") or "rates" in file_settings:
            return {}
        return {"rates": json.dumps({"link_bps": placed.slowest_bps})}

    def planned(self, placed: PlacedJob, way: str) -> PlannedRun:
        """Partition and exchanges of a way, planned once.

        Raises:
            OfframpError: settings or a graph that cannot be read, or too few vertices; with file and line.
        """
        from offramp.train.planned import plan_run

        if way not in self._planned:
            settings = self.settings(placed, way)
            with _one_thread():
                self._planned[way] = plan_run(settings.load(), settings)
        return self._planned[way]

    def model_s(self, placed: PlacedJob, way: str) -> float:
        """Predicted seconds of an epoch: computation, then the transfer of its bytes."""
        lossless(self, placed, way)
        if way in SWITCHES and (placed.job.shares or way == FeatureTransport.SWITCH_SUMS):
            refuse_tofino(placed.cluster)
        if way == FeatureTransport.SWITCH_SUMS:
            refuse_sockets(placed)
        if way in SWITCHES:
            return placed.job.compute_s + self._through_switch_s(placed, way)
        share = _LOSSY_BITS / 32 if way == FeatureTransport.G3_SYLVIE else 1.0
        self.settings(placed, way)  # raises for options that do not go together
        sent = self.bytes_of_epoch(placed)
        return placed.job.compute_s + share * sent / len(placed.hosts) * 8 / placed.slowest_bps

    def bytes_of_epoch(self, placed: PlacedJob) -> int:
        """Bytes that all workers send each other in an epoch of float32 features, headers included.

        Raises:
            OfframpError: as :meth:`planned`.
        """
        from offramp.switchgnn.volume import host_volume

        planned = self.planned(placed, FeatureTransport.P2P)
        return sum(host_volume(planned.boundary, width).wire_bytes for width in self._widths(planned))

    def traffic(self, placed: PlacedJob, way: str) -> StepTraffic:
        """Features alone, from each worker to each other, or to the switches and back."""
        from offramp.switchgnn.volume import streams

        if way in SWITCHES:
            return self._switched(placed, way)
        planned = self.planned(placed, FeatureTransport.P2P)
        boundary = planned.boundary
        owner = boundary.owner[boundary.copies[:, 0]].astype(np.int64)
        values = sum(self._widths(planned))
        share = _LOSSY_BITS / 32 if way == FeatureTransport.G3_SYLVIE else 1.0
        sent = streams(owner, boundary.copies[:, 1], _FLOAT_BYTES * values, boundary.workers)
        return StepTraffic(between=share * sent.payload_bytes.astype(np.float64))

    def _switched(self, placed: PlacedJob, way: str) -> StepTraffic:
        from offramp.job.crossing import crossing_vectors

        planned, network = self.planned(placed, way), GnnNetwork.of(placed.cluster, placed.hosts)
        schemes = [planned.exchanges[width] for width in self._widths(planned)]
        workers = planned.boundary.workers
        up, down = np.zeros(workers), np.zeros(workers)
        between = np.zeros((workers, workers), dtype=np.float64)
        for scheme in schemes:
            for block in scheme.plan.blocks:
                sends, gets = loads(block, workers)
                up += _FLOAT_BYTES * scheme.lanes * sends
                down += _FLOAT_BYTES * scheme.lanes * gets
            between += scheme.by_hosts.payload_bytes
        vector = sum(_FLOAT_BYTES * scheme.lanes for scheme in schemes)
        passes_s = sum(scheme.passes for scheme in schemes) * PASS_S[network.switches[0].target]
        return StepTraffic(
            up=up,
            down=down,
            between=between,
            crossing=lambda ranks: vector * crossing_vectors(planned.boundary, ranks),
            passes_s=passes_s / len(network.switches),
            processor_s=passes_s,
        )

    def _widths(self, planned: PlannedRun) -> list[int]:
        from offramp.train.job import exchange_widths, keeps_first_sums, layer_widths

        widths = layer_widths(planned.graph, planned.settings)
        kept = int(keeps_first_sums(planned.settings, widths))
        return exchange_widths(planned.settings, widths)[kept:]

    def _through_switch_s(self, placed: PlacedJob, way: str) -> float:
        from offramp.switchgnn.cost import Rates, predict

        planned = self.planned(placed, way)
        rates = Rates(link_bps=placed.slowest_bps)
        schemes = planned.exchanges
        return sum(predict(schemes[width], rates).seconds for width in self._widths(planned))

    def deployment(self, placed: PlacedJob, ways: Sequence[str], number: int, folder: Path) -> Deployment:
        """SwitchGNN's program and entries on the switches between the ranks, and the agents at their links.

        Where switches sum gradients as well: the program that carries both, and pages of slots for the job.
        """
        (way,) = ways
        if way not in SWITCHES:
            return Deployment()
        planned = self.planned(placed, way)
        job, network = placed.job, GnnNetwork.of(placed.cluster, placed.hosts)
        sums = way == FeatureTransport.SWITCH_SUMS
        steps = network.steps(planned.plans, number, share=job.shares or sums, segments=job.segments)
        if not sums:
            return Deployment(steps)
        refuse_sockets(placed)
        segments = min(step.shared_sizes.segments for step in steps if isinstance(step, GnnOnSwitch))
        job = replace(job, share=True, segments=segments)
        steps = network.steps(planned.plans, number, share=True, segments=segments)
        steps += deployment_of_sums(job, placed.cluster, placed.hosts, number)
        known = Admitted(number, segments)
        text = network_text(ReductionNetwork.SWITCH, job, placed.cluster, placed.hosts, known, folder, {})
        return Deployment(steps, text)

    def words_of(self, placed: PlacedJob, way: str, start: JobStart) -> list[str]:
        """Options for the links, for the plan that is on the switches already, and for the checkpoint."""
        words = []
        if way in SWITCHES:
            from offramp.switchgnn.fingerprint import job_fingerprint

            network = GnnNetwork.of(placed.cluster, placed.hosts)
            planned = self.planned(placed, way)
            words += ["--switch", ",".join(network.addresses), "--ports", ",".join(network.links)]
            words += ["--loaded", job_fingerprint(planned.plans)]
        return words + self.checkpoint_words(self.settings(placed, way), start)


def refuse_sockets(placed: PlacedJob) -> None:
    """Refuse hosts whose switch's ports take one process at a time: a rank has a link for features and one for sums.

    Raises:
        OfframpError: such hosts.
    """
    if placed.hosts[0].reach == "local":
        raise OfframpError("hosts share this machine's sockets, which take one system at a time")


def _one_thread() -> AbstractContextManager[object]:
    """Compute in one thread as ranks do: with several, nearest neighbours at equal distances may differ."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # it comes with scikit-learn, which is what would use them
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits
