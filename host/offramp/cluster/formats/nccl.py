# SPDX-License-Identifier: Apache-2.0
"""NCCL's topology of a host (``NCCL_TOPO_DUMP_FILE``): GPUs, their NVLinks, and network ports with their speeds.

A file is a host of the file's name; where NCCL has fused several (``host_hash``), each is one. NCCL does not know what
joins them: ``ibnetdiscover``'s output beside the files does, by the ports' GUIDs or else the hosts' names, and
``--flat`` puts one switch there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat

from offramp.cluster.formats import Defaults, ibnetdiscover
from offramp.cluster.formats.build import FLAT, build, clean, inside, speed
from offramp.cluster.model import FASTEST_BPS, Cluster
from offramp.cluster.names import some
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

_MEGABIT: Final = 10**6
_DEEPEST: Final = 64
_LINK_BPS: Final = ((60, 160 * 10**9), (70, 200 * 10**9), (100, 400 * 10**9))
"""NVLink, one way, from a compute capability on: 20, 25 and 50 GB/s."""
_GPU_CLASSES: Final = ("0x0300", "0x0302")
_PORT_CLASSES: Final = ("0x0200", "0x0207")
_MISSING: Final = "ibnetdiscover's output beside NCCL's files"


@dataclass
class _NcclHost:
    """What a file says about one machine.

    Attributes:
        gpus: NVLinks and compute capability of each GPU, by its number on the bus.
        ports: bits per second and GUID of each network port, by name and port.
        cards: classes of PCI devices, by their number on the bus.
    """

    gpus: dict[str, tuple[int, int]] = field(default_factory=dict)
    ports: dict[str, tuple[int | None, int]] = field(default_factory=dict)
    cards: dict[str, str] = field(default_factory=dict)

    def complete(self) -> None:
        """Count devices by their class where a file, as vendors write them for virtual machines, says no more."""
        if not self.gpus:
            self.gpus = {bus: (0, 0) for bus, kind in self.cards.items() if kind.startswith(_GPU_CLASSES)}
        if not self.ports:
            self.ports = {bus: (None, 0) for bus, kind in self.cards.items() if kind.startswith(_PORT_CLASSES)}

    def inside_bps(self) -> int | None:
        """Rate of a GPU to the others of its host over NVLink: of the slowest; None if one has none."""
        rates = [links * _rate_of_a_link(sm) for links, sm in self.gpus.values()]
        return min(rates) if rates and len(rates) > 1 and all(rates) else None


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Machines as hosts with their GPUs, joined by InfiniBand's switches or by one.

    Raises:
        OfframpError: names the file, and the line or what is missing.
    """
    subnets = [each for each in files if ibnetdiscover.is_subnet(each[1])]
    machines: dict[str, _NcclHost] = {}
    hashes: set[str] = set()
    for path, text in files:
        if (path, text) not in subnets:
            for host_hash, name, host in _machines(path, text):
                if name in machines:
                    raise OfframpError(f"{path}: {name} is there twice: expected files of different names")
                if not host_hash or host_hash not in hashes:  # each rank of a host may have written a file
                    machines[name] = host
                hashes.add(host_hash)
    if not machines:
        raise OfframpError(f"{files[0][0]}: expected NCCL's <system>, as NCCL_TOPO_DUMP_FILE has it")
    hosts = [_row(name, host) for name, host in machines.items()]
    parts: dict[str, list[dict[str, Any]]] = {"hosts": hosts}
    if subnets:
        parts |= _over(subnets, machines, defaults)
    elif defaults.flat and len(machines) > 1:
        links = [
            {"ends": [name, FLAT], **speed(defaults, rate)}
            for name, host in machines.items()
            for rate, _ in (host.ports or {"": (None, 0)}).values()
        ]
        parts |= {"switches": [{"name": FLAT, "target": "plain"}], "links": links}
    return build(files[0][0], "nccl", parts, defaults, _MISSING)


def _row(name: str, host: _NcclHost) -> dict[str, Any]:
    return {"name": name, "gpus": len(host.gpus), **inside(host.inside_bps())}


def _over(subnets: list[tuple[str, str]], machines: dict[str, _NcclHost], defaults: Defaults) -> dict[str, Any]:
    """Switches and links of InfiniBand, whose adapters become the machines that have them."""
    subnet = ibnetdiscover.subnet_of(subnets)
    owners = {guid: name for name, host in machines.items() for _, guid in host.ports.values() if guid}
    strange = []
    for node in subnet.nodes.values():
        if node.is_switch:
            continue
        owner = next((owners[guid] for guid in node.guids if guid in owners), None)
        owner = owner or next((owners[each] for guid in node.guids if (each := _swapped(guid)) in owners), None)
        owner = owner or (node.name if node.name in machines else None)
        if owner is None:
            strange.append(node.name)
        else:
            node.name = owner
    if strange:
        defaults.note(f"{subnets[0][0]}: left out: {some(strange)}: in none of NCCL's files")
        subnet.links = [
            link for link in subnet.links if all(_is_ours(subnet.nodes[end[0]], machines) for end in link[:2])
        ]
    subnet.links = [link for link in subnet.links if len({subnet.nodes[end[0]].name for end in link[:2]}) == 2]
    return ibnetdiscover.rows(subnet, defaults)


def _is_ours(node: ibnetdiscover.Adapter, machines: dict[str, _NcclHost]) -> bool:
    return node.is_switch or node.name in machines


def _swapped(guid: int) -> int:
    """A GUID in the other order of bytes, in which some versions of NCCL write it."""
    return int.from_bytes(guid.to_bytes(8, "big"), "little")


def _rate_of_a_link(sm: int) -> int:
    return max((rate for least, rate in _LINK_BPS if sm >= least), default=0)


def _machines(path: str, text: str) -> list[tuple[str, str, _NcclHost]]:
    """The hash that NCCL has of each machine or nothing, its name here, and what the file says of it."""
    reader = _NcclReader(path)
    reader.parse(text)
    stem = Path(path).stem
    stem = clean(re.sub(r"[._-]?(nccl)?[._-]?topo(logy)?$", "", stem, flags=re.IGNORECASE) or stem)
    for host in reader.hosts.values():
        host.complete()
    hosts = [(key, host) for key, host in reader.hosts.items() if host.gpus or host.ports]
    if not hosts:
        raise OfframpError(f"{path}: expected <cpu> with GPUs or network ports in NCCL's <system>")
    return [(key, stem if len(hosts) == 1 else f"{stem}-{k}", host) for k, (key, host) in enumerate(hosts)]


class _NcclReader:
    """The elements of a file, without a tree of them; entities and declarations of types are refused."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.hosts: dict[str, _NcclHost] = defaultdict(_NcclHost)
        self._open: list[tuple[str, dict[str, str]]] = []
        self._parser = expat.ParserCreate()

    def parse(self, text: str) -> None:
        """Read the text.

        Raises:
            OfframpError: names the line.
        """
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda _name: self._open.pop()
        self._parser.StartDoctypeDeclHandler = self._doctype
        try:
            self._parser.Parse(re.sub(r"^\s*<\?xml[^>]*\?>", "", text), True)
        except expat.ExpatError as error:
            problem = expat.ErrorString(error.code)
            raise OfframpError(f"{self.path}:{error.lineno}: not XML: {problem}") from None
        except UnicodeEncodeError:
            raise OfframpError(f"{self.path}: not XML: a character that does not exist") from None

    def _doctype(self, *_: object) -> None:
        raise self._error("a declaration of types: expected elements alone")

    def _error(self, problem: str) -> OfframpError:
        return OfframpError(f"{self.path}:{self._parser.CurrentLineNumber}: {problem}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._open and name != "system":
            raise self._error(f"<{name[:40]}>: expected NCCL's <system>")
        if len(self._open) >= _DEEPEST:
            raise self._error(f"nested deeper than {_DEEPEST}")
        self._open.append((name, attributes))
        if name == "pci":
            self._host().cards[attributes.get("busid", "")] = attributes.get("class", "")
        elif name == "gpu":
            key = self._above("pci", "busid") or f"gpu{attributes.get('dev', len(self._host().gpus))}"
            self._host().gpus.setdefault(key, (0, self._number(attributes, "sm", 0)))
        elif name == "nvlink" and len(self._open) > 1 and self._open[-2][0] == "gpu":
            gpus = self._host().gpus
            key = self._above("pci", "busid") or next(reversed(gpus))
            links, sm = gpus[key]
            gpus[key] = (links + self._number(attributes, "count", 1), sm)
        elif name == "net":
            mbit = self._number(attributes, "speed", 0)
            if mbit * _MEGABIT > FASTEST_BPS:
                raise self._error(f"speed {mbit}: expected Mbit/s")
            key = f"{attributes.get('name', 'net')}:{attributes.get('port', '')}"
            guid = attributes.get("guid", "0")
            number = int(guid, 16) if re.fullmatch(r"(0x)?[0-9a-fA-F]{1,16}", guid) else 0
            self._host().ports.setdefault(key, (mbit * _MEGABIT or None, number))

    def _host(self) -> _NcclHost:
        return self.hosts[self._above("cpu", "host_hash") or ""]

    def _above(self, element: str, attribute: str) -> str:
        """An attribute of the innermost element of a name that is open."""
        return next((given.get(attribute, "") for name, given in reversed(self._open) if name == element), "")

    def _number(self, attributes: dict[str, str], key: str, usual: int) -> int:
        if key not in attributes:
            return usual
        value = whole_number(attributes[key])
        if value is None:
            raise self._error(f"{key} {attributes[key][:40]}: expected a whole number")
        return value
