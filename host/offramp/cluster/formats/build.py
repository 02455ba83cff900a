# SPDX-License-Identifier: Apache-2.0
"""Builds a cluster of hosts, switches and links without port numbers, checked like a cluster file."""

from __future__ import annotations

import re
from typing import Any

import yaml

from offramp.cluster.formats import Defaults
from offramp.cluster.model import Cluster
from offramp.cluster.read import parse_cluster
from offramp_base.errors import OfframpError
from offramp_base.settings.units import BITS_PER_SECOND, nanoseconds_shown


def build(origin: str, name: str, parts: dict[str, list[dict[str, Any]]]) -> Cluster:
    """The cluster of a file with these parts.

    Raises:
        OfframpError: what cannot be, named by the part; lines would be those of a text that nobody has seen.
    """
    data = {"name": clean(name)} | {part: rows for part, rows in parts.items() if rows}
    text = yaml.safe_dump(data, sort_keys=False, width=1 << 30)
    try:
        return parse_cluster(text, "cluster.yaml")
    except OfframpError as error:
        raise OfframpError(f"{origin}: {re.sub(r'^cluster.yaml:[0-9]+: ', '', str(error))}") from None


def clean(name: str) -> str:
    """A name of the letters that cluster files have for names."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._") or "cluster"


def speed(defaults: Defaults) -> dict[str, str]:
    """Fields of a link about which a file says nothing."""
    row = {"rate": BITS_PER_SECOND.shown(defaults.rate_bps)}
    return row | ({"delay": nanoseconds_shown(defaults.delay_ns)} if defaults.delay_ns else {})
