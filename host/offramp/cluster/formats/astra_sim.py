# SPDX-License-Identifier: Apache-2.0
"""ASTRA-sim's networks: those of version 2 here, those of version 1 in :mod:`.astra_sim_1`.

Version 2 has ``topology``, ``npus_count``, ``bandwidth``, ``latency``, an item for each dimension. Its bandwidth is of
one link, in GB/s of 2^30 bytes; its rings have two links, its fully connected dimensions size - 1. Its latency is that
of a link, of which there are two through a switch.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from offramp.cluster.formats import Defaults, astra_sim_1
from offramp.cluster.formats.astra_sim_1 import GB, building_block, checked
from offramp.cluster.formats.build import build, fields_of
from offramp.cluster.formats.npus import joined
from offramp.cluster.model import Cluster, ClusterDimension
from offramp_base.errors import OfframpError

_KEYS: Final = ("topology", "npus_count", "bandwidth", "latency")


def is_network(text: str) -> bool:
    """Whether a text has the first key of either version."""
    first = re.search(r"^[ \t]*(topology|npus_count)[ \t]*:", text, re.MULTILINE)
    return first is not None or astra_sim_1.is_network(text)


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """The dimensions, and each NPU as a host with the links that they say, unless a cluster file cannot hold these.

    Raises:
        OfframpError: names the file, and line or dimension.
    """
    if len(files) != 1:
        raise OfframpError(f"{len(files)} files: expected one network")
    (path, text), *_ = files
    name = Path(path).stem
    try:
        dimensions = network(text, name).dimensions
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    parts = joined(dimensions, defaults)
    if parts is None:
        defaults.note(f"{path}: dimensions alone: a cluster file cannot hold as many hosts and links")
    rows = {"dimensions": [fields_of(each) for each in dimensions]}
    return build(path, name, (parts or {}) | rows, defaults, "dimensions of NPUs")


def network(text: str, name: str) -> Cluster:
    """A cluster from the text of a file: JSON is version 1.

    Of YAML these files use ``key: [ a, b ]`` and comments, and ``key: a`` where there is one dimension.

    Raises:
        OfframpError: names the line or dimension.
    """
    if astra_sim_1.is_network(text):
        return astra_sim_1.network(text, name)
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"(\w+)\s*:\s*(?:\[(.*)\]|([^\s\[\],]+))", line)
        if match is None or match[1] not in _KEYS:
            raise OfframpError(f"line {number}: expected one of {', '.join(_KEYS)}, a colon and a list in [ ]")
        if match[1] in rows:
            raise OfframpError(f"line {number}: {match[1]} for a second time")
        rows[match[1]] = [item.strip() for item in (match[3] or match[2]).split(",")]
    for key in _KEYS:
        if len(rows.get(key, [])) != len(rows.get("topology", [])) or not rows.get(key):
            raise OfframpError(f"{key}: expected one item for each dimension")
    items = zip(*(rows[key] for key in _KEYS), strict=True)
    return Cluster(name=name, dimensions=tuple(_dimension(k, *item) for k, item in enumerate(items, 1)))


def _dimension(k: int, kind: str, size: str, gbytes: str, latency: str) -> ClusterDimension:
    try:
        peers, rate, delay = int(size), float(gbytes), float(latency)
    except ValueError:
        raise OfframpError(f"dim{k}: {size}, {gbytes}, {latency}: expected an integer and two numbers") from None
    word = building_block(k, kind.strip("'\""))
    links = {"ring": 2 if peers > 2 else 1, "fully-connected": max(1, peers - 1)}.get(word, 1)
    return checked(k, word, peers, rate * GB * 8 * links, delay * (2 if word == "switch" else 1))
