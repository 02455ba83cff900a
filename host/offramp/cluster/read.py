# SPDX-License-Identifier: Apache-2.0
"""Reads cluster files and checks them as a whole; errors name file, line and field."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from offramp.cluster.model import (
    FASTEST_BPS,
    MOST_HOSTS,
    MOST_PROGRAM_PORTS,
    MOST_SWITCHES,
    ROUTINGS,
    Agent,
    Cable,
    CableEnd,
    Card,
    Cluster,
    ClusterDimension,
    ClusterHost,
    ClusterSwitch,
    LinkFailure,
)
from offramp.cluster.names import expand
from offramp.cluster.spread import crossing_dimensions
from offramp_base.arguments import interface, label, word
from offramp_base.errors import OfframpError
from offramp_base.settings.document import read_record
from offramp_base.settings.field import Field
from offramp_base.settings.source import Place, SourceFile, parse_source, read_source
from offramp_base.settings.units import BITS_PER_SECOND, nanoseconds

T = TypeVar("T")
_PARTS: Final = ("name", "hosts", "switches", "links", "dimensions", "routing", "failures")
_MOST_LINKS: Final = 65536
_MOST_BYTES: Final = 1 << 24
"""Longest cluster file: as many links as there may be, a line for each."""


@dataclass(frozen=True, kw_only=True)
class _LinkFields:
    rate_bps: Annotated[
        int, Field("Rate in each direction", key="rate", least=1, most=FASTEST_BPS, unit=BITS_PER_SECOND)
    ]
    delay_ns: Annotated[float, Field("Delay in each direction", key="delay", parse=nanoseconds)] = 0.0


@dataclass(frozen=True, kw_only=True)
class _FailureFields:
    start_ns: Annotated[float, Field("When the link fails", key="at", parse=nanoseconds)] = 0.0
    end_ns: Annotated[float, Field("When it is mended; never by default", key="until", parse=nanoseconds)] = math.inf


def is_cluster(data: object) -> bool:
    """Whether the content of a file is a cluster's: it has hosts, or dimensions alone."""
    return isinstance(data, dict) and ("hosts" in data or "dimensions" in data) and set(data) <= set(_PARTS)


def read_cluster(path: str | Path) -> Cluster:
    """A cluster from a YAML file, or TOML where the name ends in ``.toml``.

    Raises:
        OfframpError: the file cannot be read or describes no valid cluster; one line with file, line and field.
    """
    return cluster_of(read_source(Path(path), _MOST_BYTES), Path(path).stem)


def parse_cluster(text: str, name: str = "cluster.yaml") -> Cluster:
    """A cluster from the text of a YAML file.

    Raises:
        OfframpError: as :func:`read_cluster`.
    """
    return cluster_of(parse_source(text, name, _MOST_BYTES), Path(name).stem)


def cluster_of(source: SourceFile, stem: str) -> Cluster:
    """A cluster from the content of a file.

    Raises:
        OfframpError: as :func:`read_cluster`.
    """
    return _ClusterReader(source).cluster(stem)


@dataclass
class _ClusterReader:
    source: SourceFile
    lines: dict[str, Place] = field(default_factory=dict)
    free: dict[str, int] = field(default_factory=dict)  # by node: no port or interface below is free

    def cluster(self, stem: str) -> Cluster:
        data = self.source.data
        if not isinstance(data, dict):
            raise self.source.error((), f"expected one of {', '.join(_PARTS)}")
        for key in data:
            if key not in _PARTS:
                raise self.source.error((key,), f"no such field; expected one of {', '.join(_PARTS)}")
        hosts, switches = self._nodes("hosts"), self._nodes("switches")
        if not hosts and not data.get("dimensions"):
            raise self.source.error(("hosts",), "expected at least one host")
        cluster = Cluster(
            name=self._title(data.get("name", stem)),
            hosts=tuple(hosts),
            switches=tuple(switches),
            dimensions=tuple(
                self._record(("dimensions", i), ClusterDimension, row) for i, row in self._rows(data, "dimensions")
            ),
            origin=self.source.name,
        )
        self._check_addresses(cluster)
        cluster = replace(cluster, links=tuple(self._links(cluster)), routing=self._routing(data))
        cluster = replace(cluster, failures=tuple(self._failures(cluster)))
        places = {name: f"{self.source.name}:{self.source.line(place)}" for name, place in self.lines.items()}
        cluster = replace(cluster, places=places)
        self._check_dimensions(cluster)
        return cluster

    def _title(self, text: object) -> str:
        try:
            return word(str(text) if isinstance(text, str | int) else "")
        except ValueError as error:
            raise self.source.error(("name",), str(error)) from None

    def _rows(self, data: Any, part: str, at: Place = ()) -> list[tuple[int, Any]]:
        rows = data.get(part)
        if rows is None:
            return []
        if not isinstance(rows, list):
            raise self.source.error((*at, part), "expected a list")
        return list(enumerate(rows))

    def _nodes(self, part: str) -> list[Any]:
        nodes: list[Any] = []
        for i, row in self._rows(self.source.data, part):
            place = (part, i)
            names = self._names((*place, "name"), row.get("name") if isinstance(row, dict) else None)
            most = MOST_HOSTS if part == "hosts" else MOST_SWITCHES
            if len(nodes) + len(names) > most:
                raise self.source.error(place, f"more than {most} {part}")
            for k, name in enumerate(names):
                if name in self.lines:
                    first = self.source.line(self.lines[name])
                    raise self.source.error((*place, "name"), f"{name} is there twice, first in line {first}")
                self.lines[name] = (*place, "name")
                nodes.append(self._host(place, row, name, k) if part == "hosts" else self._switch(place, row, name, k))
        return nodes

    def _names(self, place: Place, text: object) -> list[str]:
        if not isinstance(text, str | int) or isinstance(text, bool):
            raise self.source.error(place, "expected a name")
        try:
            names = expand(str(text))
        except OfframpError as error:
            raise self.source.error(place, str(error)) from None
        for name in names:
            try:
                label(name)
            except ValueError as error:
                raise self.source.error(place, f"{name[:60]}: {error}") from None
        return names

    def _host(self, place: Place, row: dict[str, Any], name: str, k: int) -> ClusterHost:
        lists: dict[str, Any] = {}
        for part, kind in (("agents", Agent), ("cards", Card)):
            rows = self._rows(row, part, place)
            lists[part] = tuple(self._record((*place, part, i), kind, each) for i, each in rows)
            twice = [n for n, count in Counter(each.name for each in lists[part]).items() if count > 1]
            if twice:
                raise self.source.error((*place, part), f"{twice[0]} is there twice")
        hardware = row.get("hardware")
        if hardware is not None and not isinstance(hardware, str | dict):
            raise self.source.error((*place, "hardware"), "expected the name of a model, or a model")
        rest = {key: value for key, value in row.items() if key not in ("agents", "cards", "hardware")}
        host = self._record(place, ClusterHost, {**rest, "name": name})
        if host.address and k:
            host = replace(host, address=self._counted((*place, "address"), host.address, k))
        return replace(host, hardware=hardware, **lists)

    def _switch(self, place: Place, row: dict[str, Any], name: str, k: int) -> ClusterSwitch:
        switch = self._record(place, ClusterSwitch, {**row, "name": name})
        if switch.ports > MOST_PROGRAM_PORTS and switch.target in ("v1model", "tna"):
            problem = f"{switch.ports}: expected at most {MOST_PROGRAM_PORTS} at a switch of target {switch.target}"
            raise self.source.error((*place, "ports"), problem)
        if (switch.cert is None) != (switch.key is None):
            raise self.source.error(place, "cert and key: expected both or neither")
        if k and switch.control and not switch.control.startswith("unix:"):
            host, colon, port = switch.control.rpartition(":")
            switch = replace(switch, control=self._counted((*place, "control"), host, k) + colon + port)
        elif k and switch.control:
            raise self.source.error((*place, "control"), "expected one switch, or the address of the first of several")
        return switch

    def _counted(self, place: Place, first: str, k: int) -> str:
        """The address of the ``k``-th of several: the first one's plus k."""
        try:
            return str(IPv4Address(first) + k)
        except (AddressValueError, ValueError):
            raise self.source.error(place, f"{first}: expected the IPv4 address of the first one") from None

    def _record(self, place: Place, kind: type[T], row: object) -> T:
        return read_record(self.source, place, kind, row)

    # --- links ---------------------------------------------------------------------------------------------

    def _links(self, cluster: Cluster) -> list[Cable]:
        taken: dict[tuple[str, int | str], int] = {}
        rows = [(i, row, *self._ends(cluster, i, row)) for i, row in self._rows(self.source.data, "links")]
        # Ports that the file numbers are taken first, so that the others get free ones.
        for i, _, ends, _ in rows:
            for end in (end for pair in ends for end in pair):
                if end.port != "":
                    self._take(taken, i, end)
        links: list[Cable] = []
        for i, _, ends, fields in rows:
            for a, b in ends:
                if len(links) >= _MOST_LINKS:
                    raise self.source.error(("links", i), f"more than {_MOST_LINKS} links")
                link = Cable(
                    self._numbered(cluster, taken, i, a),
                    self._numbered(cluster, taken, i, b),
                    fields.rate_bps,
                    fields.delay_ns,
                )
                self.lines[f"{link.a} - {link.b}"] = ("links", i)
                links.append(link)
        return links

    def _ends(self, cluster: Cluster, i: int, row: object) -> tuple[list[tuple[CableEnd, CableEnd]], _LinkFields]:
        place = ("links", i)
        if not isinstance(row, dict):
            raise self.source.error(place, "expected fields by name: ends, rate, delay")
        fields = self._record(place, _LinkFields, {key: value for key, value in row.items() if key != "ends"})
        ends = row.get("ends")
        if not isinstance(ends, list) or len(ends) != 2:
            raise self.source.error((*place, "ends"), "expected two, such as [h1, leaf1] or [h1:eth0, leaf1:3]")
        left, right = (self._side(cluster, (*place, "ends", k), text) for k, text in enumerate(ends))
        if len(left) > 1 and len(right) > 1 and len(left) != len(right):
            raise self.source.error((*place, "ends"), f"{len(left)} nodes against {len(right)}")
        count = max(len(left), len(right))
        pairs = [(left[k % len(left)], right[k % len(right)]) for k in range(count)]
        for a, b in pairs:
            if a.node == b.node:
                raise self.source.error((*place, "ends"), f"a loop: both ends are at {a.node}")
        return pairs, fields

    def _side(self, cluster: Cluster, place: Place, text: object) -> list[CableEnd]:
        nodes, _, port = str(text).partition(":")
        ends = []
        for name in self._names(place, nodes):
            node = cluster.by_name.get(name)
            if node is None:
                raise self.source.error(place, f"{name}: no such host or switch")
            number: int | str = port
            if port and isinstance(node, ClusterSwitch):
                if not re.fullmatch("[0-9]{1,5}", port) or not 1 <= int(port) <= node.ports:
                    raise self.source.error(place, f"port {port[:20]} of {name}: expected 1 to {node.ports}")
                number = int(port)
            elif port:
                try:
                    interface(port)
                except ValueError as error:
                    raise self.source.error(place, f"interface {port[:20]} of {name}: {error}") from None
            ends.append(CableEnd(name, number))
        return ends

    def _take(self, taken: dict[tuple[str, int | str], int], i: int, end: CableEnd) -> None:
        if (end.node, end.port) in taken:
            first = self.source.line(("links", taken[end.node, end.port]))
            raise self.source.error(("links", i, "ends"), f"{end} has a link already, in line {first}")
        taken[end.node, end.port] = i

    def _numbered(self, cluster: Cluster, taken: dict[tuple[str, int | str], int], i: int, end: CableEnd) -> CableEnd:
        """The end, on the lowest free port or interface where the file names none."""
        if end.port != "":
            return end
        node = cluster.by_name[end.node]
        ports = node.ports if isinstance(node, ClusterSwitch) else None
        number = self.free.get(end.node, 0 if ports is None else 1)
        while (end.node, port := f"eth{number}" if ports is None else number) in taken:
            number += 1
        if ports is not None and number > ports:
            raise self.source.error(("links", i), f"{end.node}: all of its {ports} ports have links already")
        self.free[end.node] = number + 1
        numbered = CableEnd(end.node, port)
        self._take(taken, i, numbered)
        return numbered

    def _routing(self, data: dict[str, Any]) -> str:
        routing = data.get("routing", "destination")
        if routing not in ROUTINGS:
            raise self.source.error(("routing",), f"{str(routing)[:40]}: expected one of {', '.join(ROUTINGS)}")
        return str(routing)

    def _failures(self, cluster: Cluster) -> list[LinkFailure]:
        joined = {frozenset((link.a.node, link.b.node)) for link in cluster.links}
        failures = []
        for i, row in self._rows(self.source.data, "failures"):
            place = ("failures", i)
            ends = row.get("link") if isinstance(row, dict) else None
            if not isinstance(ends, list) or len(ends) != 2:
                raise self.source.error(place, "expected link: [leaf1, spine1], perhaps with at and until")
            times = self._record(place, _FailureFields, {key: value for key, value in row.items() if key != "link"})
            if not times.start_ns < times.end_ns:
                raise self.source.error((*place, "until"), "expected a time after that of at")
            left, right = (self._names((*place, "link", k), name) for k, name in enumerate(ends))
            for a, b in ((a, b) for a in left for b in right):
                if frozenset((a, b)) not in joined:
                    raise self.source.error((*place, "link"), f"no link joins {a} and {b}")
                failures.append(LinkFailure((a, b), times.start_ns, times.end_ns))
        return failures

    # --- checks across several parts ------------------------------------------------------------------------

    def _check_addresses(self, cluster: Cluster) -> None:
        seen: dict[str, str] = {}
        for host in cluster.hosts:
            if host.address and seen.setdefault(host.address, host.name) != host.name:
                raise self.source.error(
                    self.lines[host.name], f"{host.address} is the address of {seen[host.address]}, too"
                )

    def _check_dimensions(self, cluster: Cluster) -> None:
        if not cluster.dimensions or not cluster.hosts:
            return
        product = 1
        for each in cluster.dimensions:
            product *= each.size
        if product != len(cluster.ranks):
            raise self.source.error(
                ("dimensions",), f"their sizes make {product}, but the hosts have {len(cluster.ranks)} ranks"
            )
        self._check_rates(cluster)

    def _check_rates(self, cluster: Cluster) -> None:
        """Refuse a dimension whose rate exceeds what all links of a rank's host carry together."""
        for i in crossing_dimensions(cluster):
            wanted, shown = cluster.dimensions[i].rate_bps, BITS_PER_SECOND.shown
            for host in cluster.hosts:
                links, carried = cluster.links_of[host.name], cluster.rate_bps(host.name)
                if host.processes and links and wanted > carried:
                    where = cluster.place(f"{links[0].a} - {links[0].b}")
                    they = "its link" if len(links) == 1 else f"its {len(links)} links together"
                    problem = f"{shown(wanted)} of a rank on {host.name}: expected at most {shown(carried)}, which"
                    raise self.source.error(("dimensions", i, "rate"), f"{problem} {they} can carry ({where})")


def require(cluster: Cluster, names: Sequence[str]) -> None:
    """Refuse names of hosts that the cluster lacks.

    Raises:
        OfframpError: a name is unknown; the message lists the known ones.
    """
    hosts = {host.name for host in cluster.hosts}
    for name in names:
        if name not in hosts:
            known = ", ".join(host.name for host in cluster.hosts[:12])
            raise OfframpError(f"{cluster.origin or cluster.name}: {name}: no such host; expected one of {known}")
