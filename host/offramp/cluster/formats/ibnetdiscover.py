# SPDX-License-Identifier: Apache-2.0
"""InfiniBand as ``ibnetdiscover`` prints it: switches, channel adapters, and the port at both ends of each link.

A host is what the descriptions of its adapters begin with (``node018 HCA-1``), or else an adapter by its GUID. A
link's rate is that of its data: ``4xEDR`` are 100 Gbit/s after coding. Aggregation nodes of SHARP are no hosts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, clean, speed
from offramp.cluster.model import Cluster
from offramp_base.errors import OfframpError

_NODE: Final = re.compile(r'(Switch|Ca|Rt)\s+\d{1,4}\s+"([SHR])-(?:0x)?([0-9a-fA-F]{1,16})"\s*#\s*"([^"]*)"')
_LINK: Final = re.compile(
    r"\[(\d{1,4})\](?:\[ext \d+\])?(?:\((?:0x)?[0-9a-fA-F]+\))?\s+"
    r'"([SHR])-(?:0x)?([0-9a-fA-F]{1,16})"\[(\d{1,4})\](.*)'
)
_SPEED: Final = re.compile(r"(\d{1,2})x([A-Z]{3,5}\d{0,2})\s*(?:s=\d+\s*)?$")
_GUID: Final = re.compile(r"(sysimgguid|caguid)=0x([0-9a-fA-F]{1,16})")
_LANE_BPS: Final = {
    "SDR": 2 * 10**9,  # 8b/10b up to QDR, then 64b/66b
    "DDR": 4 * 10**9,
    "QDR": 8 * 10**9,
    "FDR10": 10 * 10**9,
    "FDR": 14_062_500_000 * 64 // 66,
    "EDR": 25 * 10**9,
    "HDR": 50 * 10**9,
    "NDR": 100 * 10**9,
    "XDR": 200 * 10**9,
}
_ADAPTER: Final = re.compile(
    r"(.*?)(?<![\s_-])[\s_-]++(?:HCA-?\d+|mlx\d_\w+|hfi1_\d+|qib\d+|ib\d+|mthca\d+|bnxt_re\d+)\s*", re.IGNORECASE
)
_AGGREGATION: Final = "Aggregation Node"
_MISSING: Final = "what ibnetdiscover prints of a whole subnet"


@dataclass
class Adapter:
    """A switch, channel adapter or router.

    Attributes:
        name: name of the host or switch in the cluster.
        is_switch: whether it forwards.
        guids: GUIDs of its hardware, as numbers.
    """

    name: str
    is_switch: bool
    guids: set[int] = field(default_factory=set)


@dataclass
class Subnet:
    """What a file describes.

    Attributes:
        nodes: switches and adapters by the identifier in quotes.
        links: identifier and port of each end, and bits per second.
    """

    nodes: dict[str, Adapter]
    links: list[tuple[tuple[str, int], tuple[str, int], int | None]]


def is_subnet(text: str) -> bool:
    """Whether a text has a line of a switch or adapter."""
    return any(_NODE.match(line.strip()) for line in text.splitlines())


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Adapters as hosts, switches and links.

    Raises:
        OfframpError: names the file and line.
    """
    subnet = subnet_of(files)
    hosts = sorted({node.name for node in subnet.nodes.values() if not node.is_switch}, key=_natural)
    parts = rows(subnet, defaults) | {"hosts": [{"name": name} for name in hosts]}
    return build(files[0][0], "infiniband", parts, defaults, _MISSING)


def _natural(name: str) -> list[tuple[str, int]]:
    """Sort numbers in names by their value."""
    return [(word, int(digits or 0)) for word, digits in re.findall(r"(\D*)(\d{0,18})", name)]


def rows(subnet: Subnet, defaults: Defaults) -> dict[str, list[dict[str, Any]]]:
    """Rows of switches and links; the names of hosts stand in the links."""
    links = []
    for a, b, rate in subnet.links:
        ends = []
        for node, port in (a, b):
            known = subnet.nodes[node]
            ends.append(f"{known.name}:{port}" if known.is_switch else known.name)
        links.append({"ends": ends, **speed(defaults, rate)})
    switches = [{"name": node.name, "target": "plain"} for node in subnet.nodes.values() if node.is_switch]
    return {"switches": switches, "links": links}


def subnet_of(files: list[tuple[str, str]]) -> Subnet:
    """Everything that the files print.

    Raises:
        OfframpError: names the file and line.
    """
    reader = _SubnetReader()
    for path, text in files:
        reader.current = ""
        for number, line in enumerate(text.splitlines(), 1):
            reader.line(f"{path}:{number}", line.strip())
    if not reader.nodes:
        raise OfframpError(f"{files[0][0]}: expected {_MISSING}")
    return Subnet(reader.nodes, reader.links())


class _SubnetReader:
    """Nodes and ports, line by line; every link is printed at both ends."""

    def __init__(self) -> None:
        self.nodes: dict[str, Adapter] = {}
        self.current = ""
        self._ends: dict[tuple[str, int], tuple[str, str, int, int | None]] = {}
        self._left_out: set[str] = set()
        self._names: set[str] = set()
        self._guids: set[int] = set()

    def line(self, where: str, line: str) -> None:
        """Read one line.

        Raises:
            OfframpError: a port of no node, or of an unknown speed.
        """
        guid, node, link = _GUID.match(line), _NODE.match(line), _LINK.match(line)
        if guid:
            self._guids.add(int(guid[2], 16))
        elif node:
            kind, letter, digits, description = node.groups()
            self._node(kind, f"{letter}-{digits}", description)
        elif link:
            if not self.current:
                raise OfframpError(f"{where}: a port: expected its switch or adapter in a line before it")
            port, letter, digits, far_port, rest = link.groups()
            width = _SPEED.search(rest.strip())
            if width and width[2] not in _LANE_BPS:
                raise OfframpError(f"{where}: {width[0]}: expected a speed such as 4xHDR")
            rate = int(width[1]) * _LANE_BPS[width[2]] if width else None
            self._ends[self.current, int(port)] = (where, f"{letter}-{digits}", int(far_port), rate or None)
        elif line.startswith("[") and self.current:
            raise OfframpError(f'{where}: {line:.40}: expected a port such as [1] "H-0002c903000e8acf"[1]')

    def _node(self, kind: str, identifier: str, description: str) -> None:
        self.current = identifier
        if kind == "Rt" or _AGGREGATION in description:
            self._left_out.add(identifier)
        elif identifier not in self.nodes:
            guids = self._guids | {int(identifier.partition("-")[2], 16)}
            name = self._name(kind, identifier, description)
            self.nodes[identifier] = Adapter(name, kind == "Switch", guids)
        self._guids = set()

    def _name(self, kind: str, identifier: str, description: str) -> str:
        """A switch's description, or its GUID if that is a model's; a host's part of an adapter's description."""
        match = _ADAPTER.fullmatch(description)
        words = (
            description.removeprefix("MF0;").split(":")[0] if kind == "Switch" else match[1] if match else description
        )
        name = clean(words) if words.strip() and " " not in words.strip() else clean(identifier)
        if kind == "Switch" and name in self._names:
            name = clean(identifier)
        self._names.add(name)
        return name

    def links(self) -> list[tuple[tuple[str, int], tuple[str, int], int | None]]:
        """Each link once, without those to what is left out, or between two ports of one host.

        Raises:
            OfframpError: a link to a node of which nothing is printed.
        """
        links = []
        done: set[tuple[str, int]] = set()
        for here, (where, far, far_port, rate) in self._ends.items():
            if here in done or self._left_out & {here[0], far}:
                continue
            done.add((far, far_port))
            back = self._ends.get((far, far_port))
            rate = min((each for each in (rate, back and back[3]) if each), default=None)
            if far not in self.nodes:
                raise OfframpError(f"{where}: {far}: no such switch or adapter: expected {_MISSING}")
            if self.nodes[far].name != self.nodes[here[0]].name:
                links.append((here, (far, far_port), rate))
        return links
