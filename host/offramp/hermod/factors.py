# SPDX-License-Identifier: Apache-2.0
"""The three model factors of a coflow and the orders that policies make of them (thesis, tables 5.3 and 5.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from offramp_base.errors import OfframpError


class CType(IntEnum):
    """Kind of parallelism that a coflow belongs to; TP stays inside a server and has no priority."""

    EP = 0
    PP = 1
    DP = 2
    TP = 3


@dataclass(frozen=True, order=True, slots=True)
class Factors:
    """The three factors that decide a coflow's priority.

    Attributes:
        mid: microbatch, from 0. DP carries the last one: it starts after it (table 5.4).
        ctype: kind of parallelism.
        lid: layer of the whole model, from 0 (with interleaving in the order of the virtual stages).
    """

    mid: int
    ctype: CType
    lid: int


Key = tuple[int, ...]
"""Compared from the left; smaller goes first, equal keys share."""


def _hermod(f: Factors) -> Key:
    return f.mid, int(f.ctype is CType.DP), f.lid


def _interleaved(f: Factors) -> Key:
    return f.mid, int(f.ctype), f.lid


def _layer_first(f: Factors) -> Key:
    return int(f.ctype is CType.DP), f.lid, f.mid


POLICIES: Final = {
    "hermod": _hermod,
    "hermod-interleaved": _interleaved,
    "ep-pp-dp": lambda f: (int(f.ctype),),
    "type": lambda f: (int(f.ctype is CType.DP),),
    "dp-first": lambda f: (int(f.ctype is not CType.DP),),
    "pp-first": lambda f: (int(f.ctype is not CType.PP),),
    "ep-first": lambda f: (int(f.ctype is not CType.EP),),
    "layer-first": _layer_first,
}
"""Strict orders by name. ``hermod``: MID > CType > LID with EP and PP alike; ``hermod-interleaved``: EP > PP > DP in
a microbatch (section 5.3.1); ``ep-pp-dp``: the type alone, in three classes."""


def key(policy: str, factors: Factors) -> Key:
    """The place of a coflow in the order of a policy.

    Raises:
        OfframpError: there is no such policy.
    """
    try:
        return POLICIES[policy](factors)
    except KeyError:
        raise OfframpError(f"policy {policy}: expected one of {', '.join(POLICIES)}") from None


def hermod_policy(*, interleaved: bool) -> str:
    """The order that the thesis gives for a pipeline schedule."""
    return "hermod-interleaved" if interleaved else "hermod"
