# SPDX-License-Identifier: Apache-2.0
"""Everything that can be reproduced, by name."""

from __future__ import annotations

import re
from typing import Final

from offramp_base.errors import OfframpError
from offramp_sim.reproduce.item import ITEMS, Item

_FORMER: Final = {"placement": "dgtp"}
"""Former names of systems."""


def items() -> list[Item]:
    """All items, by system, figures and tables of each in their order in the paper."""
    return [ITEMS.get(name) for name in sorted(ITEMS.names(), key=_natural)]


def find(name: str) -> list[Item]:
    """The item ``name``, all of a system (``switchgnn``) or ``all``.

    Raises:
        OfframpError: there is none.
    """
    system, slash, rest = name.partition("/")
    name = f"{_FORMER.get(system, system)}{slash}{rest}"
    known = items()
    chosen = [item for item in known if name in ("all", item.name, item.name.split("/")[0])]
    if not chosen:
        systems = list(dict.fromkeys(item.name.split("/")[0] for item in known))
        for module, reason in ITEMS.lacking.items():
            if module.split(".")[2] == name.split("/", maxsplit=1)[0]:
                raise OfframpError(f"reproduce {name}: {reason}")
        own = [item.name for item in known if item.name.startswith(f"{name.split('/', maxsplit=1)[0]}/")]
        choice = f"one of {', '.join(own)}" if own else f"all, list, a system ({', '.join(systems)}) or an item of list"
        raise OfframpError(f"reproduce {name}: expected {choice}")
    return chosen


def _natural(name: str) -> list[int | str]:
    """Sort key by which numbers in names count as numbers: fig5.9 before fig5.10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
