# SPDX-License-Identifier: Apache-2.0
"""LLDP: what ``lldpcli show neighbors -f json`` prints on each host or switch, in a file of its name.

A neighbour that runs a network operating system, or has the capability Bridge or Router enabled, is a switch, unless
its name says that it is a host; rates follow from the negotiated medium (``100GbaseCR4``) where lldpd prints it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, clean, speed
from offramp.cluster.formats.roles import role_word, switches_among
from offramp.cluster.model import Cluster
from offramp_base.documents import parse_json
from offramp_base.errors import OfframpError

_FIELDS: Final = frozenset({"id", "descr", "mgmt-ip", "mgmt-iface", "capability", "name", "value"})
_FORWARDING: Final = ("Bridge", "Router")
_MEDIUM: Final = re.compile(r"(\d{1,4}(?:\.\d)?)(G?)(?:ig)?base", re.IGNORECASE)
_SYSTEM: Final = re.compile(
    "SONiC|Cumulus|Arista|Junos|NX-OS|IOS|ArcOS|SR Linux|FBOSS|Onyx|Dell EMC Networking|Comware"
)
_MISSING: Final = "the files of all hosts, or those of the switches that join them"


@dataclass(frozen=True, slots=True)
class _LldpEntry:
    """An entry of a table: the interface here, and who is at the other end."""

    interface: str
    name: str
    forwards: bool | None
    address: str | None
    rate_bps: int | None


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Machines as hosts and switches, and a link for each interface that sees another machine.

    Raises:
        OfframpError: names the file and the interface.
    """
    tables: dict[str, list[_LldpEntry]] = {}
    for path, text in files:
        stem = clean(re.sub(r"[._-]?lldp$", "", Path(path).stem, flags=re.IGNORECASE))
        if stem in tables:
            raise OfframpError(f"{path}: {stem} is there twice: expected files of different names")
        tables[stem] = _table(path, text)
    short = {name.split(".")[0]: name for name in tables if not name[0].isdigit()}
    views: dict[tuple[str, str], dict[str, int | None]] = {}
    forwards: dict[str, bool] = {}
    addresses: dict[str, str] = {}
    neighbours: dict[str, set[str]] = {name: set() for name in tables}
    for here, table in tables.items():
        for each in table:
            there = each.name if each.name in tables else short.get(each.name.split(".")[0], each.name)
            if there == here:
                continue
            if each.forwards is not None:
                forwards[there] = forwards.get(there, False) or each.forwards
            if each.address:
                addresses.setdefault(there, each.address)
            neighbours[here].add(there)
            neighbours.setdefault(there, set()).add(here)
            seen = views.setdefault((here, there), {})  # lldpd prints a neighbour once for each protocol that it speaks
            seen[each.interface] = seen.get(each.interface) or each.rate_bps
    hints = {name: role_word(name) or _role(forwards.get(name)) for name in neighbours}
    switches = switches_among(neighbours, hints) if neighbours else set()
    parts: dict[str, list[dict[str, Any]]] = {
        "hosts": [
            {"name": name} | ({"address": addresses[name]} if name in addresses else {})
            for name in neighbours
            if name not in switches
        ],
        "switches": [{"name": name, "target": "plain"} for name in neighbours if name in switches],
        "links": _links(views, defaults),
    }
    return build(files[0][0], "lldp", parts, defaults, _MISSING)


def _links(views: dict[tuple[str, str], dict[str, int | None]], defaults: Defaults) -> list[dict[str, Any]]:
    """A link for each cable: as many between two machines as the one sees that sees more of them."""
    links = []
    for (here, there), seen in views.items():
        back = views.get((there, here), {})
        if len(back) > len(seen) or (len(back) == len(seen) and there < here):
            continue
        known = next((rate for rate in (*seen.values(), *back.values()) if rate), None)
        links += [{"ends": [here, there], **speed(defaults, rate or known)} for rate in seen.values()]
    return links


def _role(forwards: bool | None) -> str | None:
    return None if forwards is None else "switch" if forwards else "host"


def _table(path: str, text: str) -> list[_LldpEntry]:
    try:
        data = parse_json(text)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    if not isinstance(data, dict) or "lldp" not in data:
        raise OfframpError(f"{path}: expected lldp, as lldpcli show neighbors -f json prints it")
    neighbours = []
    for name, fields in _interfaces(data["lldp"]):
        where = f"{path}: {name}"
        chassis, port = _one(fields.get("chassis")), _one(fields.get("port"))
        system, chassis = _system(chassis)
        if not system:
            raise OfframpError(f"{where}: chassis: expected the name or id of a neighbour")
        neighbours.append(_LldpEntry(name, clean(system), _forwards(chassis), _address(chassis), _rate(port)))
    return neighbours


def _interfaces(data: Any) -> list[tuple[str, dict[str, Any]]]:
    """Names and fields of the interfaces, in each of the forms that lldpd has for them."""
    rows: list[tuple[str, dict[str, Any]]] = []
    for part in data if isinstance(data, list) else [data]:
        given = part.get("interface") if isinstance(part, dict) else None
        for item in given if isinstance(given, list) else [given]:
            if not isinstance(item, dict):
                continue
            named = {str(item["name"]): item} if isinstance(item.get("name"), str) else item
            rows += [(name, fields) for name, fields in named.items() if isinstance(fields, dict)]
    return rows


def _one(value: Any) -> dict[str, Any]:
    """The mapping that a value is, or the first of a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, dict) else {}


def _text(value: Any) -> str:
    """The text that a value is, or has in ``value``."""
    if isinstance(value, list | dict):
        return _text(_one(value).get("value")) if _one(value) else ""
    return value if isinstance(value, str) else ""


def _system(chassis: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name and fields of a chassis: the key around these, the field ``name``, or else its id."""
    names = [key for key in chassis if key not in _FIELDS and isinstance(chassis[key], dict)]
    if names:
        return names[0], chassis[names[0]]
    return _text(chassis.get("name")) or _text(chassis.get("id")), chassis


def _forwards(chassis: dict[str, Any]) -> bool | None:
    """Whether a machine forwards: by what it runs, or else by its capabilities; None if it says neither."""
    if _SYSTEM.search(_text(chassis.get("descr"))):
        return True
    given = chassis.get("capability")
    rows = [row for row in (given if isinstance(given, list) else [given]) if isinstance(row, dict)]
    if not rows:
        return None
    return any(row.get("type") in _FORWARDING and row.get("enabled") is True for row in rows)


def _address(chassis: dict[str, Any]) -> str | None:
    given = chassis.get("mgmt-ip")
    for each in given if isinstance(given, list) else [given]:
        try:
            return str(IPv4Address(_text(each)))
        except (AddressValueError, ValueError):
            continue
    return None


def _rate(port: dict[str, Any]) -> int | None:
    medium = _MEDIUM.match(_text(_one(port.get("auto-negotiation")).get("current")))
    if medium is None:
        return None
    return round(float(medium[1]) * (10**9 if medium[2] else 10**6)) or None
