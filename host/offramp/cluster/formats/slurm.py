# SPDX-License-Identifier: Apache-2.0
"""Slurm: the output of ``scontrol show nodes``, and ``topology.conf`` (topology/tree), in any order."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, speed
from offramp.cluster.model import MOST_PORTS, Cluster
from offramp.cluster.names import expand
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

_PAIR: Final = re.compile(r"([A-Za-z]\w*)=(\S*)")
_MEBIBYTE: Final = 1 << 20


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Nodes as hosts; switches of ``topology.conf`` as such, with a link to each of their nodes and switches.

    Raises:
        OfframpError: names the file and line.
    """
    hosts: list[dict[str, Any]] = []
    rows: list[tuple[str, dict[str, str]]] = []
    for path, text in files:
        for number, record in _records(text):
            where = f"{path}:{number}"
            if "NodeName" in record:
                hosts += _hosts(where, record)
            elif "SwitchName" in record:
                rows.append((where, record))
    if not hosts:
        raise OfframpError(f"{files[0][0]}: expected NodeName=, as scontrol show nodes prints it")
    switches, links = _switches(rows, defaults, {host["name"] for host in hosts})
    return build(files[0][0], "slurm", {"hosts": hosts, "switches": switches, "links": links})


def _records(text: str) -> list[tuple[int, dict[str, str]]]:
    """``Key=value`` words of each node or switch; a node goes on until the next ``NodeName``."""
    records: list[tuple[int, dict[str, str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.split("#")[0] if line.lstrip().startswith("#") else line
        words = dict(_PAIR.findall(bare))
        if "NodeName" in words or "SwitchName" in words:
            records.append((number, words))
        elif records and "NodeName" in records[-1][1]:
            records[-1][1].update({key: value for key, value in words.items() if key not in records[-1][1]})
    return records


def _hosts(where: str, record: dict[str, str]) -> list[dict[str, Any]]:
    generic = [word.split(":") for word in re.sub(r"\([^)]*\)", "", record.get("Gres", "")).split(",")]
    counts = [whole_number(word[-1]) for word in generic if word[0] == "gpu"]
    gpus = sum(1 if count is None else count for count in counts)
    numbers: dict[str, Any] = {}
    for key, name, unit in (("CPUTot", "cores", 1), ("CPUs", "cores", 1), ("RealMemory", "memory", _MEBIBYTE)):
        if key in record:
            if not re.fullmatch(r"[0-9]{1,12}", record[key]):
                raise OfframpError(f"{where}: {key}={record[key][:40]}: expected a number")
            numbers[name] = int(record[key]) * unit
    hosts = []
    for name in _names(where, record["NodeName"]):
        row: dict[str, Any] = {"name": name, **numbers, "reach": "srun"}
        address = record.get("NodeAddr", "")
        if _is_address(address):
            row["address"] = address
        hosts.append(row | ({"gpus": gpus} if gpus else {}))
    return hosts


def _switches(
    rows: list[tuple[str, dict[str, str]]], defaults: Defaults, hosts: set[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    named = {record["SwitchName"] for _, record in rows}
    degree: dict[str, int] = dict.fromkeys(named, 0)
    links = []
    for where, record in rows:
        name = record["SwitchName"]
        for part, known in (("Nodes", hosts), ("Switches", named)):
            for below in _names(where, record[part]) if record.get(part) else []:
                if below not in known:
                    raise OfframpError(f"{where}: {part}: {below}: no such {'node' if part == 'Nodes' else 'switch'}")
                links.append({"ends": [below, name], **speed(defaults)})
                for each in (below, name):
                    degree[each] = degree.get(each, 0) + 1
    too_many = next((name for name in named if degree[name] > MOST_PORTS), None)
    if too_many is not None:
        raise OfframpError(f"{too_many}: {degree[too_many]} links: expected at most {MOST_PORTS}")
    order = [record["SwitchName"] for _, record in rows]
    return [{"name": name, "target": "plain", "ports": max(32, degree[name])} for name in order], links


def _names(where: str, text: str) -> list[str]:
    try:
        return expand(text)
    except OfframpError as error:
        raise OfframpError(f"{where}: {error}") from None


def _is_address(text: str) -> bool:
    try:
        IPv4Address(text)
    except (AddressValueError, ValueError):
        return False
    return True
