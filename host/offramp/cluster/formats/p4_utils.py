# SPDX-License-Identifier: Apache-2.0
"""Topologies of p4-utils (``p4app.json``), and those of p4lang's tutorials (``topology.json``).

A link is ``[node, node, {"bw": Mb/s, "delay": "5ms", "port1": …, "port2": …}]``, in the tutorials
``["h1", "s1-p1", "5ms", 100]``; ``default`` has the values of other links. Only what stands in the file counts:
programs and commands stay there.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, speed
from offramp.cluster.model import CableEnd, Cluster, ClusterSwitch
from offramp_base.documents import is_number, parse_json
from offramp_base.errors import OfframpError
from offramp_base.settings.units import nanoseconds

_PORT: Final = re.compile(r"(.+)-p([0-9]{1,3})")
_MEGABIT: Final = 10**6


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Hosts, switches and links of a topology.

    Raises:
        OfframpError: names the file and the link.
    """
    (path, text), *more = files
    if more:
        raise OfframpError(f"{more[0][0]}: expected one topology")
    try:
        data = parse_json(text)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    top = data.get("topology", data) if isinstance(data, dict) else None
    if not isinstance(top, dict) or not all(isinstance(top.get(p), t) for p, t in _KINDS.items()):
        raise OfframpError(f"{path}: expected hosts, switches and links, in topology or at the top")
    hosts = [_host(name, fields) for name, fields in top["hosts"].items()]
    switches = [{"name": name, "target": "v1model"} for name in top["switches"]]
    usual = top.get("default")
    usual = {key: usual[key] for key in ("bw", "delay") if key in usual} if isinstance(usual, dict) else {}
    names = set(top["switches"])
    links = [_link(f"{path}: links[{i}]", link, names, usual, defaults) for i, link in enumerate(top["links"])]
    parts = {"hosts": hosts, "switches": switches, "links": links}
    return build(path, "p4-utils", parts, defaults, "links that join the hosts over switches")


_KINDS: Final = {"hosts": dict, "switches": dict, "links": list}


def _host(name: str, fields: Any) -> dict[str, Any]:
    address = str(fields.get("ip", "")).split("/")[0] if isinstance(fields, dict) else ""
    return {"name": name} | ({"address": address} if address else {})


def _link(where: str, link: Any, switches: set[str], usual: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    if not isinstance(link, list) or not 2 <= len(link) <= 4 or not all(isinstance(n, str) for n in link[:2]):
        raise OfframpError(f"{where}: expected two nodes, and perhaps delay and bw")
    if len(link) == 3 and isinstance(link[2], dict):
        options = usual | link[2]
    else:
        options = usual | dict(zip(("delay", "bw"), link[2:], strict=False))
    ends = []
    for k, text in enumerate(link[:2], 1):
        match = _PORT.fullmatch(text)
        name, port = (match[1], match[2]) if match and match[1] in switches else (text, None)
        port = options.get(f"port{k}", port) if name in switches else options.get(f"intfName{k}")
        ends.append(name if port is None else f"{name}:{port}")
    row: dict[str, Any] = {"ends": ends, **speed(defaults)}
    if options.get("bw") is not None:
        row["rate"] = round(_number(f"{where}: bw", options["bw"]) * _MEGABIT)
    if options.get("delay") is not None:
        row["delay"] = _delay(f"{where}: delay", options["delay"])
    return row


def _number(where: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not (is_number(number) and 0 < number <= MOST_MEGABITS):
        raise OfframpError(f"{where} {str(value)[:40]}: expected a number of Mb/s")
    return number


MOST_MEGABITS: Final = 10**9


def _delay(where: str, value: Any) -> str:
    """``5ms``; a number is of milliseconds."""
    text = f"{value}ms" if is_number(value) or re.fullmatch(r"[0-9.]+", str(value)) else str(value)
    try:
        nanoseconds(text)
    except ValueError as error:
        raise OfframpError(f"{where} {str(value)[:40]}: {error}") from None
    return text


def write(cluster: Cluster) -> str:
    """``p4app.json`` for the program ``main.p4``, to be replaced by the user's.

    Raises:
        OfframpError: a switch that runs no P4 on bmv2.
    """
    for switch in cluster.switches:
        if switch.target != "v1model":
            raise OfframpError(f"{cluster.place(switch.name)}: {switch.name}: p4-utils runs no {switch.target}")
    links = []
    for link in cluster.links:
        options: dict[str, Any] = {"bw": link.rate_bps / _MEGABIT, "delay": f"{link.delay_ns / 1e6:.12g}ms"}
        for k, end in enumerate((link.a, link.b), 1):
            options[f"port{k}" if _is_switch(cluster, end) else f"intfName{k}"] = end.port
        links.append([link.a.node, link.b.node, options])
    hosts = {host.name: {"ip": f"{host.address}/16"} if host.address else {} for host in cluster.hosts}
    top = {"assignment_strategy": "l2", "links": links, "hosts": hosts}
    data = {"p4_src": "main.p4", "topology": top | {"switches": {each.name: {} for each in cluster.switches}}}
    return json.dumps(data, indent=2) + "\n"


def _is_switch(cluster: Cluster, end: CableEnd) -> bool:
    return isinstance(cluster.by_name[end.node], ClusterSwitch)
