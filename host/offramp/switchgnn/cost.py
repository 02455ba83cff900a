# SPDX-License-Identifier: Apache-2.0
"""Duration of an exchange: links, pipeline, hosts and barriers, without loss."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from offramp.graph.csr import IntArray
from offramp.switchgnn.plan import BlockPlan
from offramp.switchgnn.scheme_plan import SchemePlan
from offramp.switchgnn.timing import MOST_PACKETS, block_slots, hosts_bytes, served_slots
from offramp_base.documents import is_number, parse_json, read_text
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

_ALIKE = 8
"""Ratio of speeds of links and pipeline below which they wait for each other."""


@dataclass(frozen=True)
class Rates:
    """Rates that limit an exchange; by default the paper's network, a Tofino, and hosts as fast as their links.

    Attributes:
        link_bps: rate of each worker's link, in each direction.
        delay_s: propagation from a worker to the switch.
        passes_pps: packets per second through the pipeline, recirculated ones included.
        host_pps: packets per second that a worker sends and receives, together.
        round_s: duration of a round beyond its packets and four propagations.
        overlap: whether links, pipeline and hosts work at the same time; a software switch shares its cores with them.
        free_forwarding: whether frames between hosts cost the pipeline nothing, as in hardware; a software switch's
            cores serve both, so that copies that save few bytes per pass gain nothing from host to host.
    """

    link_bps: float = 100e9
    delay_s: float = 2e-6
    passes_pps: float = 1.2e9
    host_pps: float = 150e6
    round_s: float = 0.0
    overlap: bool = True
    free_forwarding: bool = True

    def __post_init__(self) -> None:
        for name in ("link_bps", "passes_pps", "host_pps"):
            if not getattr(self, name) > 0:
                raise OfframpError(f"rates: {name} {getattr(self, name):g}: expected more than 0")
        for name in ("delay_s", "round_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise OfframpError(f"rates: {name} {getattr(self, name):g}: expected at least 0")


def load_rates(path: Path | str) -> Rates:
    """Rates from a JSON object in a file, or given itself; those that it does not name keep their defaults.

    Raises:
        OfframpError: the file cannot be read, is not a JSON object of such values, or names something else.
    """
    try:
        content = parse_json(str(path) if str(path).startswith("{") else read_text(Path(path)))
    except OfframpError as error:
        raise SettingsError("rates", f"{error}", path) from None
    known = {field.name: field.type for field in fields(Rates)}
    if not isinstance(content, dict) or not content.keys() <= known.keys():
        raise SettingsError("rates", f"expected an object with some of {', '.join(sorted(known))}", path)
    for name, value in content.items():
        flag = known[name] == "bool"
        if not (isinstance(value, bool) if flag else is_number(value)):
            raise SettingsError("rates", f"{name}: expected {'true or false' if flag else 'a number'}", path)
    try:
        return Rates(**content)
    except OfframpError as error:
        raise SettingsError("rates", f"{str(error).removeprefix('rates: ')}", path) from None


def save_rates(rates: Rates, path: Path) -> None:
    """Write ``rates`` to a file that :func:`load_rates` reads.

    Raises:
        OfframpError: ``path`` cannot be written.
    """
    try:
        write_text(path, json.dumps(asdict(rates), indent=1) + "\n")
    except OSError as error:
        raise SettingsError("rates", f"cannot be written: {error.strerror}", path) from None


@dataclass(frozen=True)
class ExchangeTime:
    """Seconds of one exchange.

    Attributes:
        seconds: total time.
        switch_s: time of the blocks, each as long as its bottleneck.
        barrier_s: time of the barriers between blocks.
        hosts_s: time of the messages between hosts.
    """

    seconds: float
    switch_s: float
    barrier_s: float
    hosts_s: float


def predict(scheme_plan: SchemePlan, rates: Rates) -> ExchangeTime:
    """Time of one exchange: first the messages between hosts, then block after block."""
    plan, workers = scheme_plan.plan, scheme_plan.boundary.workers
    slot_s = scheme_plan.packet_bytes * 8 / rates.link_bps
    switch_s = 0.0
    for block in plan.blocks:
        sends, gets = loads(block, workers)
        links = block_slots(block, plan.chunks) * slot_s
        passes = len(block.neighbours) * plan.chunks
        pipeline = passes / rates.passes_pps
        if rates.overlap and passes <= MOST_PACKETS and links < _ALIKE * pipeline and pipeline < _ALIKE * links:
            links = max(links, served_slots(block, plan.chunks, rates.passes_pps * slot_s) * slot_s)
        host = int((sends + gets).max()) * plan.chunks / rates.host_pps
        switch_s += (max if rates.overlap else _sum)(links, pipeline, host)
    switch_s *= scheme_plan.slices
    barrier_s = scheme_plan.rounds * (4 * rates.delay_s + rates.round_s)
    hosts_s = _hosts_seconds(scheme_plan, rates)
    return ExchangeTime(switch_s + barrier_s + hosts_s, switch_s, barrier_s, hosts_s)


def _sum(*seconds: float) -> float:
    return sum(seconds)


def loads(block: BlockPlan, workers: int) -> tuple[IntArray, IntArray]:
    """``(workers,)`` vertices that each worker uploads, and sums that it receives."""
    up = np.bincount(block.owner[block.order], minlength=workers)
    return up, np.bincount(block.owner[block.need > 0], minlength=workers)


def _hosts_seconds(scheme_plan: SchemePlan, rates: Rates) -> float:
    """Seconds of the messages between hosts, all sent at once: links or the busiest host decide."""
    sent = scheme_plan.by_hosts
    if not sent.packets.any():
        return 0.0
    packets = int((sent.packets.sum(axis=0) + sent.packets.sum(axis=1)).max())
    return max(hosts_bytes(sent) * 8 / rates.link_bps, packets / rates.host_pps) + 2 * rates.delay_s
