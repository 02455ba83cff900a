# SPDX-License-Identifier: Apache-2.0
"""Constraints of SONiC's YANG models on the tables that are written (sonic-buildimage, ``sonic-yang-models``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from offramp.hermod.deploy.sonic.tables import (
    DSCP_MAP,
    PORT_MAP,
    QUEUE,
    REFERENCES,
    SCHEDULER,
    TC_MAP,
    WRED,
    Config,
    plain,
)
from offramp_base.errors import OfframpError

_NAME = r"[a-zA-Z0-9]([-a-zA-Z0-9_]{0,31})"
_UINT32, _UINT64, _PERCENT, _BOOLEAN = r"\d{1,10}", r"\d{1,20}", r"\d|[1-9]\d|100", "true|false"
_PORT, _INDEX = r"[^|]+", r"\d+(-\d+)?"
_ECN = "none|all|green|yellow|red|green_yellow|green_red|yellow_red"
_COLOURS = ("green", "yellow", "red")


@dataclass(frozen=True)
class _YangTable:
    """Patterns of keys, field names and values; ``references`` are fields that name a row of another table."""

    key: str
    fields: Mapping[str, str]
    references: Mapping[str, str] = field(default_factory=dict)


_TABLES = {
    DSCP_MAP: _YangTable(_NAME, {r"\d|[1-5]\d|6[0-3]": r"\d|1[0-5]"}),
    TC_MAP: _YangTable(_NAME, {r"\d|1[0-5]": r"\d"}),
    SCHEDULER: _YangTable(
        ".+",
        {
            "type": "DWRR|WRR|STRICT",
            "weight": r"[1-9]\d?|100",
            "priority": r"\d",
            "meter_type": "packets|bytes",
            "[cp]ir": _UINT64,
            "[cp]bs": _UINT32,
        },
    ),
    WRED: _YangTable(
        _NAME,
        {"ecn": f"ecn_({_ECN})"}
        | {f"wred_{colour}_enable": _BOOLEAN for colour in _COLOURS}
        | {f"{colour}_{end}_threshold": _UINT64 for colour in _COLOURS for end in ("min", "max")}
        | {f"{colour}_drop_probability": _PERCENT for colour in _COLOURS},
    ),
    QUEUE: _YangTable(
        rf"({_PORT}\|{_PORT}\|)?{_PORT}\|{_INDEX}",
        {},
        {name: REFERENCES[name] for name in ("scheduler", "wred_profile")},
    ),
    PORT_MAP: _YangTable(_PORT, {}, {name: REFERENCES[name] for name in ("dscp_to_tc_map", "tc_to_queue_map")}),
}


def validate(tables: Config, config: Config) -> None:
    """Check ``tables`` as they stand in ``config``, which holds them.

    Raises:
        OfframpError: the first key, field or reference that the models refuse.
    """
    for table, rows in tables.items():
        model = _TABLES[table]
        for key, fields in rows.items():
            _check(f"{table} {key}", re.fullmatch(model.key, key), "a name of 1 to 32 letters, digits, - and _")
            for name, value in fields.items():
                _field(model, f"{table} {key}: {name} {value}", name, value, config)
            if table == WRED:
                _thresholds(f"{table} {key}", fields)
            elif table == SCHEDULER:
                _rates(f"{table} {key}", fields)
    for key in tables.get(QUEUE, {}):
        for port in key.split("|")[-2].split(","):
            _port(f"{QUEUE} {key}", port, config)
    for key in tables.get(PORT_MAP, {}):
        for port in key.split(","):
            _port(f"{PORT_MAP} {key}", port, config)


def _field(model: _YangTable, what: str, name: str, value: str, config: Config) -> None:
    target = model.references.get(name)
    if target is not None:
        _check(what, plain(value) in config.get(target, {}), f"a row of {target}")
        return
    pattern = next((values for names, values in model.fields.items() if re.fullmatch(names, name)), None)
    _check(what, pattern is not None and re.fullmatch(pattern, value), pattern or "a field of the model")


def _thresholds(what: str, fields: Mapping[str, str]) -> None:
    for colour in _COLOURS:
        low, high = (int(fields.get(f"{colour}_{end}_threshold", 0)) for end in ("min", "max"))
        _check(f"{what}: {colour}_max_threshold {high}", high >= low, f"at least the minimum, {low}")


def _rates(what: str, fields: Mapping[str, str]) -> None:
    for rate, burst in (("cir", "cbs"), ("pir", "pbs"), ("cir", "pir")):
        _check(f"{what}: {burst} without {rate}", burst not in fields or int(fields.get(rate, 0)) > 0, "both")
    for low, high in (("cir", "pir"), ("cbs", "pbs")):
        right = low not in fields or high not in fields or int(fields[high]) >= int(fields[low])
        _check(f"{what}: {high} {fields.get(high)}", right, f"at least {low}, {fields.get(low)}")


def _port(what: str, port: str, config: Config) -> None:
    ports = config.get("PORT")
    _check(what, ports is None or port in ports or port == "global", "a port of the switch")


def _check(what: str, right: object, expected: str) -> None:
    if not right:
        raise OfframpError(f"{what}: expected {expected}")
