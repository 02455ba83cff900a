# SPDX-License-Identifier: Apache-2.0
"""Slurm: nodes (``scontrol show nodes``, ``slurm.conf``) and a topology, in files of any order.

The topology is ``topology.conf`` (plug-ins tree and block), what ``scontrol show topology`` prints of it, or
``topology.yaml``, before which Slurm ignores the other. A tree's links carry ``LinkSpeed``: a rate with its unit, or a
number of Gbit/s; Slurm itself gives it no unit, and prints 1 where there is none. Blocks have a switch each, and one
above all.
"""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import AddressValueError, IPv4Address
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build
from offramp.cluster.formats.slurm_yaml import is_yaml, read_yaml
from offramp.cluster.formats.tree import BLOCKS, TreeSwitch, put_above, tree
from offramp.cluster.model import FASTEST_BPS, Cluster
from offramp.cluster.names import expand, some
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.settings.units import BITS_PER_SECOND

Record = dict[str, str]
_PAIR: Final = re.compile(r'(?<!\w)([A-Za-z]\w*)=("[^"]*"|\S*)')
_FIRST: Final = ("nodename", "switchname", "blockname", "aggregatedblock", "blocksizes", "ringname")
_MEBIBYTE: Final = 1 << 20
_GIGABIT: Final = 10**9
_NO_SPEED: Final = "1"
_MISSING: Final = "topology.conf or topology.yaml beside it, with each node below a switch and one switch above all"


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Nodes as hosts, switches and blocks as switches, with a link to each of their nodes and switches.

    Raises:
        OfframpError: names the file and line, or what is missing.
    """
    hosts: list[dict[str, Any]] = []
    rows: list[tuple[str, Record]] = []
    yaml: dict[str, TreeSwitch] = {}
    for path, text in files:
        if is_yaml(text):
            yaml |= read_yaml(path, text, defaults)
            continue
        usual: Record = {}
        for number, record in _records(text):
            where = f"{path}:{number}"
            if record.get("nodename", "").upper() == "DEFAULT":
                usual |= record
            elif "nodename" in record:
                hosts += _hosts(where, usual | record)
            elif "ringname" in record:
                raise OfframpError(f"{where}: RingName: expected a topology of switches or blocks")
            else:
                rows.append((where, record))
    if not hosts:
        raise OfframpError(f"{files[0][0]}: expected NodeName=, as scontrol show nodes prints it")
    if yaml and rows:
        defaults.note("topology.conf left out: Slurm ignores it where there is topology.yaml")
    branches = yaml or _branches(rows)
    _check(branches, {host["name"] for host in hosts})
    switches, links = tree(branches, defaults)
    parts = {"hosts": hosts, "switches": switches, "links": links}
    return build(files[0][0], "slurm", parts, defaults, _MISSING)


def names_of(where: str, text: str) -> list[str]:
    """The names that Slurm's short form stands for.

    Raises:
        OfframpError: it is none.
    """
    try:
        return expand(text)
    except OfframpError as error:
        raise OfframpError(f"{where}: {error}") from None


def _records(text: str) -> list[tuple[int, Record]]:
    """``Key=value`` words of each node, switch or block, with keys in lower case.

    A backslash at the end joins the next line. What ``scontrol`` prints about a node goes on in indented lines.
    """
    records: list[tuple[int, Record]] = []
    start = 0
    joined: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        start = start if joined else number
        if line.endswith("\\"):
            joined.append(line[:-1] + " ")
            continue
        bare, joined = _without_comment("".join([*joined, line])), []
        words: Record = {}
        for key, value in _PAIR.findall(bare):
            words.setdefault(key.lower(), value.strip('"'))
        if any(key in words for key in _FIRST):
            records.append((start, words))
        elif records and "nodename" in records[-1][1] and line[:1].isspace():
            records[-1][1].update({key: value for key, value in words.items() if key not in records[-1][1]})
    return records


def _without_comment(line: str) -> str:
    """The line up to ``#``, which in a kernel's version does not begin a comment."""
    before = line.partition("#")[0]
    return line if re.search(r"\bOS=", before) else before


def _hosts(where: str, record: Record) -> list[dict[str, Any]]:
    generic = [word.split(":") for word in re.sub(r"\([^()]*\)", "", record.get("gres", "")).split(",")]
    counts = [whole_number(word[-1]) for word in generic if word[0].lower() == "gpu"]
    gpus = sum(1 if count is None else count for count in counts)
    numbers: dict[str, Any] = {}
    for key, shown in (("cputot", "CPUTot"), ("cpus", "CPUs"), ("realmemory", "RealMemory")):
        if key in record:
            if not re.fullmatch(r"[0-9]{1,12}", record[key]):
                raise OfframpError(f"{where}: {shown}={record[key][:40]}: expected a number")
            numbers[key] = int(record[key])
    cores = numbers.get("cputot", numbers.get("cpus")) or _threads(record)
    names = names_of(where, record["nodename"])
    addresses = _addresses(record.get("nodeaddr", ""), len(names))
    hosts = []
    for name, address in zip(names, addresses, strict=True):
        row: dict[str, Any] = {"name": name, "cores": max(1, cores), "reach": "srun"}
        if "realmemory" in numbers:
            row["memory"] = numbers["realmemory"] * _MEBIBYTE
        row |= {"address": address} if address else {}
        hosts.append(row | ({"gpus": gpus} if gpus else {}))
    return hosts


def _threads(record: Record) -> int:
    sockets = record.get("sockets") or record.get("socketsperboard", "1")
    count = 1
    for text in (sockets, record.get("corespersocket", "1"), record.get("threadspercore", "1")):
        count *= whole_number(text) or 1
    return count


def _addresses(text: str, count: int) -> list[str | None]:
    """The IPv4 address of each node; None where the file has a name or nothing."""
    try:
        addresses = [str(IPv4Address(word)) for word in expand(text)] if text else []
    except (AddressValueError, ValueError, OfframpError):
        addresses = []
    return [*addresses] if len(addresses) == count else [None] * count


def _branches(rows: list[tuple[str, Record]]) -> dict[str, TreeSwitch]:
    branches: dict[str, TreeSwitch] = {}
    blocks: list[str] = []
    for where, record in rows:
        name = record.get("switchname") or record.get("blockname")
        if not name:  # BlockSizes=, which allocations follow; an aggregated block, whose blocks are there
            continue
        for each in names_of(where, name):
            if each in branches:
                raise OfframpError(f"{where}: {each} is there twice, first in {branches[each].where}")
            branches[each] = TreeSwitch(
                where,
                names_of(where, record["nodes"]) if record.get("nodes") else [],
                names_of(where, record["switches"]) if record.get("switches") else [],
                _speed(where, record.get("linkspeed", _NO_SPEED)),
            )
            if "blockname" in record:
                blocks.append(each)
    put_above(branches, BLOCKS, blocks)
    _only_below(branches)
    return branches


def _only_below(branches: dict[str, TreeSwitch]) -> None:
    """Take from each switch the nodes that are below its own switches: ``scontrol show topology`` lists all."""
    for branch in branches.values():
        below, waiting = set[str](), list(branch.switches)
        seen = set(waiting)
        while waiting:
            each = branches.get(waiting.pop())
            if each is not None:
                below.update(each.hosts)
                waiting += [name for name in each.switches if name not in seen]
                seen.update(each.switches)
        branch.hosts = [name for name in branch.hosts if name not in below]


def _speed(where: str, text: str) -> int | None:
    """Bits per second of ``LinkSpeed``; None for Slurm's own 1, which is there if the file says nothing."""
    if text == _NO_SPEED:
        return None
    bare = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text)
    try:
        rate = round(float(text) * _GIGABIT) if bare else BITS_PER_SECOND.parse(re.sub("(?i)(bps|b/s|b)$", "bit", text))
    except ValueError:
        rate = 0
    if not 1 <= rate <= FASTEST_BPS:
        raise OfframpError(f"{where}: LinkSpeed={text[:40]}: expected a rate such as 200gbit, or a number of Gbit/s")
    return rate


def _check(branches: dict[str, TreeSwitch], hosts: set[str]) -> None:
    """Refuse switches with nodes or switches that are nowhere else, or there twice.

    Raises:
        OfframpError: names the line.
    """
    for branch in branches.values():
        twice = next((name for name, count in Counter([*branch.hosts, *branch.switches]).items() if count > 1), None)
        if twice is not None:
            raise OfframpError(f"{branch.where}: {twice} is there twice")
        for part, names, known in (("Nodes", branch.hosts, hosts), ("Switches", branch.switches, branches)):
            lost = [name for name in names if name not in known]
            if lost:
                one = "node" if part == "Nodes" else "switch"
                raise OfframpError(f"{branch.where}: {part}: {some(lost)}: no such {one}")
