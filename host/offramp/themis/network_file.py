# SPDX-License-Identifier: Apache-2.0
"""Networks from files: our TOML, and the ``topology:`` files of ASTRA-sim's analytical back end.

TOML, one table for each dimension from the innermost out::

    name = "pod"

    [[dimension]]
    type = "switch"          # ring | fully-connected | switch | in-network
    size = 16
    bandwidth_gbps = 1200    # or links = 6 and link_gbps = 200
    latency_ns = 700         # 0 by default

ASTRA-sim's bandwidth is that of a link, in GB/s of 2^30 bytes; its rings have two links, its fully connected dimensions
size - 1. Its latency is that of a link, of which there are two through a switch.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from offramp.themis.network import Dimension, Kind, Network, kind_named
from offramp.themis.topologies import NAMED, network_named
from offramp_base.documents import is_number, parse_toml, read_text
from offramp_base.errors import OfframpError

_KEYS = {"type", "size", "bandwidth_gbps", "links", "link_gbps", "latency_ns", "payload_share"}
_GB = 2**30
_ASTRA_KEYS = ("topology", "npus_count", "bandwidth", "latency")


def load_network(name: str) -> Network:
    """A network of the paper by its name, or one from a file.

    Raises:
        OfframpError: no such network, or a fault in the file, with the field that is wrong.
    """
    path = Path(name)
    if name in NAMED or not (path.suffix or path.exists()):
        return network_named(name)
    try:
        text = read_text(path)
        return _astra(text, path.stem) if path.suffix in (".yml", ".yaml") else _toml(text, path.stem)
    except OfframpError as error:
        raise OfframpError(f"network {name}: {error}") from None


def _toml(text: str, stem: str) -> Network:
    content = parse_toml(text)
    _known(content, {"name", "dimension"}, "the file")
    rows = content.get("dimension")
    if not isinstance(rows, list) or not rows:
        raise OfframpError("expected a table [[dimension]] for each dimension")
    return Network(str(content.get("name", stem)), tuple(_dimension(row, f"dim{k}") for k, row in enumerate(rows, 1)))


def _dimension(row: dict[str, Any], where: str) -> Dimension:
    _known(row, _KEYS, where)
    for name in ("type", "size"):
        if name not in row:
            raise OfframpError(f"{where}: {name} is missing")
    if "bandwidth_gbps" in row:
        gbps = _number(row, "bandwidth_gbps", where)
    elif "links" in row and "link_gbps" in row:
        gbps = _number(row, "links", where) * _number(row, "link_gbps", where)
    else:
        raise OfframpError(f"{where}: expected bandwidth_gbps, or links and link_gbps")
    latency = _number(row, "latency_ns", where) if "latency_ns" in row else 0.0
    share = _number(row, "payload_share", where) if "payload_share" in row else 1.0
    try:
        return Dimension(kind_named(row["type"]), row["size"], gbps * 1e9, latency, share)
    except OfframpError as error:
        raise OfframpError(f"{where}: {error}") from None


def _known(row: dict[str, Any], keys: set[str], where: str) -> None:
    if not isinstance(row, dict):
        raise OfframpError(f"{where}: expected a table")
    for name in row.keys() - keys:
        raise OfframpError(f"{where}: unknown field '{name}', expected {', '.join(sorted(keys))}")


def _number(row: dict[str, Any], name: str, where: str) -> float:
    value = row[name]
    if not is_number(value):
        raise OfframpError(f"{where}: {name} {value!r}: expected a number")
    return float(value)


def _astra(text: str, stem: str) -> Network:
    """``key: [ a, b ]`` lines with comments, which is all that these files use of YAML."""
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"(\w+)\s*:\s*\[(.*)\]", line)
        if match is None or match[1] not in _ASTRA_KEYS:
            raise OfframpError(f"line {number}: expected one of {', '.join(_ASTRA_KEYS)}, a colon and a list in [ ]")
        rows[match[1]] = [item.strip() for item in match[2].split(",")]
    for key in _ASTRA_KEYS:
        if len(rows.get(key, [])) != len(rows.get("topology", [])) or not rows.get(key):
            raise OfframpError(f"{key}: expected one item for each dimension")
    dimensions = []
    for k, (kind, size, gbytes, latency) in enumerate(zip(*(rows[key] for key in _ASTRA_KEYS), strict=True), 1):
        try:
            peers, rate, delay = int(size), float(gbytes), float(latency)
        except ValueError:
            raise OfframpError(f"dim{k}: {size}, {gbytes}, {latency}: expected an integer and two numbers") from None
        made = kind_named(kind)
        links = {Kind.RING: 2 if peers > 2 else 1, Kind.FULLY_CONNECTED: max(1, peers - 1)}.get(made, 1)
        hops = 2 if made is Kind.SWITCH else 1
        dimensions.append(Dimension(made, peers, rate * _GB * 8 * links, delay * hops))
    return Network(stem, tuple(dimensions))
