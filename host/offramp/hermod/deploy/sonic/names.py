# SPDX-License-Identifier: Apache-2.0
"""Names of our objects: the name alone says what the object replaced, so that it can be put back.

``HERMOD`` stands where nothing stood, ``HERMOD_7_ON_scheduler.0`` in place of ``scheduler.0``, and a scheduler
``…_OF_Ethernet0,Ethernet4@5-7`` at a queue whose row was split from ``QUEUE|Ethernet0,Ethernet4|5-7``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from offramp.hermod.deploy.sonic.tables import DSCP_MAP, OTHER, SCHEDULER, TC_MAP, WRED, Config
from offramp_base.errors import OfframpError

MOST = 32
"""Characters of a name of a map or profile by the YANG models."""
_KINDS = {DSCP_MAP: f"({OTHER})?", TC_MAP: "", SCHEDULER: r"(_\d)?", WRED: r"_\d"}
_PLACE = r"(_ON_(?P<on>.+?))?(_OF_(?P<of>.+@\d+(-\d+)?))?"


@dataclass(frozen=True, slots=True)
class Own:
    """One of our objects.

    Attributes:
        on: the object that it stands in place of; None: none.
        of: key of the row of ``QUEUE`` that was split for it; None: none.
    """

    on: str | None
    of: str | None


def own(table: str, name: str, key: str) -> Own | None:
    """The parsed name of an object whose key is ``key``; None if it does not belong to the plan called ``name``."""
    match = re.fullmatch(re.escape(name) + _KINDS[table] + _PLACE, key)
    if match is None:
        return None
    return Own(match["on"], match["of"] and match["of"].replace("@", "|"))


def named(table: str, base: str, on: str | None = None, of: str | None = None) -> str:
    """The name of an object of ours.

    Args:
        table: table of the object.
        base: its name where nothing stands in its place.
        on: as in :class:`Own`.
        of: the same.

    Raises:
        OfframpError: longer than the models allow.
    """
    full_name = base + (f"_ON_{on}" if on else "") + (f"_OF_{of.replace('|', '@')}" if of else "")
    if table != SCHEDULER and len(full_name) > MOST:
        raise OfframpError(
            f"{table} {full_name}: {len(full_name)} characters, expected up to {MOST}; use a --name that is "
            f"{len(full_name) - MOST} shorter"
        )
    return full_name


def check_name(name: str, config: Config) -> None:
    """Check that a plan may be called ``name`` in ``config``.

    Raises:
        OfframpError: what it says can be mistaken, another plan is deployed, or somebody else's objects have the name.
    """
    if re.search(rf"_ON_|_OF_|({OTHER}|_\d)$", name):
        raise OfframpError(f"--name {name}: expected one without _ON_ and _OF_ that ends neither in {OTHER} nor in _0")
    for other in _plans(config):
        if other != name:
            raise OfframpError(
                f"plan {other} is deployed there; undo it first (--undo --name {other}), or use that --name"
            )
    maps = [table for table in (DSCP_MAP, TC_MAP) if name in config.get(table, {})]
    if maps and not any(own(SCHEDULER, name, key) for key in config.get(SCHEDULER, {})):
        raise OfframpError(f"--name {name}: {maps[0]} {name} is not one of ours; use another")


def _plans(config: Config) -> list[str]:
    """Deployed plans: names that both maps and schedulers have, or that stand in place of foreign objects."""
    plans: dict[str, None] = {}
    for table in _KINDS:
        for key in config.get(table, {}):
            base, on, theirs = key.partition("_ON_")
            if on and theirs.partition("_OF_")[0] in config.get(table, {}):
                plans[re.sub(rf"({OTHER}|_\d)$", "", base)] = None
    for key in config.get(TC_MAP, {}):
        schedulers = config.get(SCHEDULER, {})
        if key in config.get(DSCP_MAP, {}) and any(own(SCHEDULER, key, name) for name in schedulers):
            plans[key] = None
    return list(plans)
