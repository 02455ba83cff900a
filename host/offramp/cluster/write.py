# SPDX-License-Identifier: Apache-2.0
"""A cluster as the text of a file, which reads back equal."""

from __future__ import annotations

import math
from typing import Any, Final

import yaml

from offramp.cluster.model import Agent, Card, Cluster, ClusterDimension, ClusterHost, ClusterSwitch, LinkFailure
from offramp_base.settings.field import REQUIRED, declared
from offramp_base.settings.units import BITS_PER_SECOND, Unit, nanoseconds_shown

_DUMPER: Final = yaml.CSafeDumper if yaml.__with_libyaml__ else yaml.SafeDumper


def cluster_text(cluster: Cluster) -> str:
    """YAML that :func:`offramp.cluster.parse_cluster` reads: a line for each host, switch and link."""
    data: dict[str, Any] = {"name": cluster.name}
    if cluster.dimensions:
        data["dimensions"] = [_fields(each) for each in cluster.dimensions]
    if cluster.hosts:
        data["hosts"] = [_host(each) for each in cluster.hosts]
    if cluster.switches:
        data["switches"] = [_fields(each) for each in cluster.switches]
    if cluster.links:
        data["links"] = [
            {"ends": [str(each.a), str(each.b)], "rate": _exact(BITS_PER_SECOND, each.rate_bps)}
            | ({"delay": nanoseconds_shown(each.delay_ns)} if each.delay_ns else {})
            for each in cluster.links
        ]
    if cluster.routing != "destination":
        data["routing"] = cluster.routing
    if cluster.failures:
        data["failures"] = [_failure(each) for each in cluster.failures]
    return "".join(
        f"{part}: {_inline(value)}\n"
        if not isinstance(value, list)
        else f"{part}:\n" + "".join(f"  - {_inline(row)}\n" for row in value)
        for part, value in data.items()
    )


def _failure(each: LinkFailure) -> dict[str, Any]:
    until = {} if math.isinf(each.end_ns) else {"until": nanoseconds_shown(each.end_ns)}
    return {"link": list(each.nodes), "at": nanoseconds_shown(each.start_ns)} | until


def _inline(value: object) -> str:
    text = yaml.dump(value, Dumper=_DUMPER, default_flow_style=True, sort_keys=False, width=10**9, allow_unicode=True)
    return str(text).strip().removesuffix("\n...").strip()


def _exact(unit: Unit, value: int) -> str | int:
    """The value with a unit where that gives the same number."""
    shown = unit.shown(value)
    try:
        return shown if unit.parse(shown) == value else value
    except ValueError:  # digits that the short form leaves out
        return value


def _fields(each: ClusterHost | ClusterSwitch | Agent | Card | ClusterDimension) -> dict[str, Any]:
    """The fields of an object that differ from their defaults, by key."""
    fields: dict[str, Any] = {}
    for one in declared(type(each)):
        value = getattr(each, one.attribute)
        if one.default is REQUIRED or value != one.default:
            if one.field.unit is not None and value is not None:
                value = _exact(one.field.unit, value)
            elif one.attribute.endswith("_ns"):
                value = nanoseconds_shown(value)
            fields[one.key] = value
    return fields


def _host(host: ClusterHost) -> dict[str, Any]:
    fields = _fields(host)
    for part in ("agents", "cards"):
        if getattr(host, part):
            fields[part] = [_fields(each) for each in getattr(host, part)]
    if host.hardware is not None:
        fields["hardware"] = host.hardware if isinstance(host.hardware, str) else dict(host.hardware)
    return fields
