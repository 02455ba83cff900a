# SPDX-License-Identifier: Apache-2.0
"""A worker's end of its link to the switch, and the propagator on top of it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

import torch

from offramp.switchgnn.exchange import Exchange
from offramp.switchgnn.fingerprint import job_fingerprint
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.scheme import LANE_BITS
from offramp.switchgnn.sum_codec import CarriedCodec, FixedPointCodec
from offramp.switchgnn.worker_link import open_worker
from offramp.train.propagators.base import Propagator
from offramp.train.propagators.quantised import QuantisedPropagator
from offramp.train.propagators.registry import Propagation
from offramp.train.propagators.switch import SwitchPropagator
from offramp.workers.traffic import Traffic
from offramp_base.errors import OfframpError
from offramp_base.transport.faulty import FaultRates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from offramp.switchgnn.exchange import SwitchLink
    from offramp.train.job import WorkerJob
    from offramp.workers.group import Group


def through(job: WorkerJob, group: Group, link: SwitchLink) -> Propagator:
    """The propagator of the job's exchanges through the switch at the other end of ``link``."""
    hosts = Traffic()
    exchanges = {width: Exchange(plan, link, group, hosts) for width, plan in job.exchange_plans.items()}
    if job.bits < LANE_BITS or job.code_bits:
        return QuantisedPropagator(exchanges, job.bits, job.fan_in, job.settings.seed, job.code_bits)
    codec = (CarriedCodec if job.settings.scale == "carried" else FixedPointCodec)(group, job.fan_in)
    return SwitchPropagator(codec, exchanges, job.local.vertices[job.local.boundary])


@contextmanager
def _open(job: WorkerJob, group: Group) -> Iterator[Propagator]:
    _agree(group, job_fingerprint(job.plans))
    settings = job.settings
    with ExitStack() as stack:
        worker = open_worker(
            group.rank,
            job.plans,
            job.link,
            stack,
            settings.timeout_s,
            window=settings.window,
            gap_s=settings.gap_s,
            recovery=Recovery.within(settings.timeout_s, settings.retry_s, acks=settings.acks),
            racks=settings.network.racks if settings.network else (),
            faults=FaultRates(loss=settings.loss, duplication=settings.duplication),
            seed=settings.seed + group.rank,
        )
        worker.start()
        yield through(job, group, worker)


SWITCH: Final = Propagation(_open, through_switch=True)


def _agree(group: Group, fingerprint: str) -> None:
    """Refuse to send any packet if the workers' plans differ."""
    mine = torch.tensor(float(int(fingerprint[:12], 16)), dtype=torch.float64)  # 48 bits: exact
    largest, least = group.max(mine.clone()), -group.max(-mine)
    if not bool(largest == mine == least):
        raise OfframpError(f"worker {group.rank}: its plan differs from the other workers'")
