# SPDX-License-Identifier: Apache-2.0
"""Schedulers and WRED profiles of queues, beside or in place of those that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.sonic.names import named
from offramp.hermod.deploy.sonic.rows import Cell, cells, holding, key_of, where
from offramp.hermod.deploy.sonic.surroundings import Surroundings
from offramp.hermod.deploy.sonic.tables import (
    QUEUE,
    REFERENCES,
    SCHEDULER,
    WRED,
    Config,
    alike,
    own_name,
    plain,
    profile,
    rates,
)
from offramp_base.errors import OfframpError

_RATES = ("cir", "pir", "meter_type")


@dataclass(frozen=True, slots=True)
class QueueService:
    """The service of the job's packets in a queue.

    Attributes:
        peak: bits per second at most; None: as many as there are.
        kept: bits per second that it is guaranteed; None: none.
        mark: bytes above which they are marked; None: never.
    """

    peak: int | None = None
    kept: int | None = None
    mark: int | None = None


Wanted = dict[str, dict[Cell, tuple[str, dict[str, str]]]]
"""Wanted objects by field of ``QUEUE`` and queue: the name where nothing stands in its place, and the fields."""


def bind_queues(
    config: Config,
    there: Surroundings,
    ports: Sequence[str],
    name: str,
    served: Mapping[int, QueueService],
    limits: LineLimits | None,
) -> tuple[Config, list[str]]:
    """The objects, the rows of ``QUEUE`` that refer to them, and the keys of rows that these are split from.

    Args:
        config: without anything of ours.
        there: what it says.
        ports: ports with the queues.
        name: name of the objects.
        served: by queue that the job takes.
        limits: what the queue of most other packets is guaranteed beside; its scheduler becomes a copy with the rate.

    Raises:
        OfframpError: a queue that several rows speak of.
    """
    wanted: Wanted = {"scheduler": {}, "wred_profile": {}}
    start = where(config)
    held = {field: holding(config, field) for field in wanted}
    for port in ports:
        for queue, how in served.items():
            cell = (start + port, queue)
            rated = rates({} if how.peak is None else {queue: how.peak}, queue, how.kept).get(queue)
            scheduler = own_name(name, queue) if rated else name
            wanted["scheduler"][cell] = (scheduler, {"type": "STRICT", **(rated or {})})
            if how.mark is not None:
                wanted["wred_profile"][cell] = (own_name(name, queue), profile(how.mark))
        if limits is not None and limits.lowest_bps is not None:
            _guarantee(config, there, port, name, limits.lowest_bps, wanted, held["scheduler"])
    _once(wanted, held)
    origins = _split(config, wanted, held)
    return _tables(config, there, wanted, held, origins), list(dict.fromkeys(origins.values()))


def _guarantee(
    config: Config,
    there: Surroundings,
    port: str,
    name: str,
    bps: int,
    wanted: Wanted,
    held: Mapping[Cell, list[str]],
) -> None:
    """A copy of the scheduler of the queue that most packets take, with a rate, unless it has rates of its own."""
    for queue in there.queues_of(there.tc_map(port), there.common(port)) - there.lossless:
        cell = (where(config) + port, queue)
        if cell not in held:
            continue
        reference = config[QUEUE][held[cell][0]]["scheduler"]
        theirs = config.get(SCHEDULER, {}).get(plain(reference), {})
        if not any(rate in theirs for rate in _RATES):
            wanted["scheduler"][cell] = (own_name(name, queue), theirs | rates({}, queue, bps)[queue])


def _once(wanted: Wanted, held: Mapping[str, Mapping[Cell, list[str]]]) -> None:
    for field, by_cell in wanted.items():
        for cell in by_cell:
            keys = held[field].get(cell, [])
            if len(keys) > 1:
                raise OfframpError(f"{QUEUE} {keys[0]} and {keys[1]}: both say a {field} of {key_of(cell)}; remove one")


def _split(config: Config, wanted: Wanted, held: Mapping[str, Mapping[Cell, list[str]]]) -> dict[Cell, str]:
    """Rows that stand for several queues which no longer agree: the key, by queue."""
    origins: dict[Cell, str] = {}
    for field, by_cell in wanted.items():
        for cell in by_cell:
            key = next(iter(held[field].get(cell, [])), key_of(cell))
            if key == key_of(cell) or origins.get(cell) == key:
                continue
            parts = cells(key)
            if len({by_cell.get(part, ("",))[0] for part in parts}) > 1:
                double = next((key_of(part) for part in parts if key_of(part) in config[QUEUE]), None)
                if double is not None:
                    raise OfframpError(f"{QUEUE} {key}: would be split, but {double} is there too; join or split them")
                origins |= dict.fromkeys(parts, key)
    return origins


def _tables(
    config: Config,
    there: Surroundings,
    wanted: Wanted,
    held: Mapping[str, Mapping[Cell, list[str]]],
    origins: Mapping[Cell, str],
) -> Config:
    rows = config.get(QUEUE, {})
    tables: Config = {SCHEDULER: {}, WRED: {}, QUEUE: {key_of(cell): dict(rows[key]) for cell, key in origins.items()}}
    for field, by_cell in wanted.items():
        table = REFERENCES[field]
        for cell, (base, fields) in by_cell.items():
            key = next(iter(held[field].get(cell, [])), key_of(cell))
            reference = rows.get(key, {}).get(field)
            if rows.get(key) == {}:
                raise OfframpError(f"{QUEUE} {key}: is empty, and could not be put back; remove it first")
            of = origins.get(cell) if field == "scheduler" else None
            object_name = named(table, base, None if reference is None else plain(reference), of)
            tables[table][object_name] = fields
            like = "[" if reference is None and there.brackets else reference
            at = key_of(cell) if cell in origins else key
            tables[QUEUE].setdefault(at, {})[field] = alike(like, table, object_name)
    return {table: content for table, content in tables.items() if content}
