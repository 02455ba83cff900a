# SPDX-License-Identifier: Apache-2.0
"""Tables, actions and arrays of a document, and values as people write them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from offramp_base.documents import parse_json
from offramp_base.errors import OfframpError

_T = TypeVar("_T")


class InputError(OfframpError):
    """Typed input that is not a command of this kind."""


@dataclass
class ActionInfo:
    """An action: its parameters with their widths."""

    name: str
    params: list[tuple[str, int]]

    def __str__(self) -> str:
        params = ",\t".join(f"{name}({width})" for name, width in self.params)
        return f"{self.name:30} [{params}]"


@dataclass
class TableInfo:
    """A table: names, kinds and widths of its keys, and its actions."""

    name: str
    kind: str
    type: str
    keys: list[tuple[str, str, int]]
    actions: dict[str, ActionInfo]
    profile: str | None
    has_timeouts: bool = False

    def __str__(self) -> str:
        keys = ",\t".join(f"{name}({kind}, {width})" for name, kind, width in self.keys)
        return f"{self.name:30} [implementation={self.profile}, mk={keys}]"

    @property
    def has_priorities(self) -> bool:
        """Whether entries take one."""
        return self.kind in {"ternary", "range"}


@dataclass
class Array:
    """A counter, meter or register array; ``table`` is what a direct one is bound to."""

    name: str
    table: str | None = None


@dataclass(frozen=True)
class LearnListInfo:
    """A learn list: its number, its name, and the octets of each of its fields."""

    number: int
    name: str
    sizes: tuple[int, ...]


@dataclass
class Catalogue:
    """The declarations of a document, by name."""

    tables: dict[str, TableInfo] = field(default_factory=dict)
    actions: dict[str, ActionInfo] = field(default_factory=dict)
    profiles: dict[str, dict[str, ActionInfo]] = field(default_factory=dict)
    counters: dict[str, Array] = field(default_factory=dict)
    meters: dict[str, Array] = field(default_factory=dict)
    registers: dict[str, Array] = field(default_factory=dict)
    value_sets: dict[str, int] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    learn_lists: list[LearnListInfo] = field(default_factory=list)


def read_catalogue(text: str) -> Catalogue:
    """The catalogue of bmv2's JSON.

    Raises:
        OfframpError: the document is not bmv2's JSON.
    """
    try:
        return _read(parse_json(text))
    except (KeyError, TypeError, IndexError, AttributeError):
        raise OfframpError("the switch's configuration is not bmv2's JSON") from None


def _read(document: Any) -> Catalogue:
    out, widths = Catalogue(), _widths(document)
    by_id: dict[int, ActionInfo] = {}
    for a in document["actions"]:
        by_id[a["id"]] = ActionInfo(a["name"], [(p["name"], p["bitwidth"]) for p in a["runtime_data"]])
        out.actions[a["name"]] = by_id[a["id"]]
    for pipeline in document["pipelines"]:
        for profile in pipeline.get("action_profiles", ()):
            out.profiles[profile["name"]] = {}
        for t in pipeline["tables"]:
            used = [by_id[i] for i in t["action_ids"]] if "action_ids" in t else [out.actions[n] for n in t["actions"]]
            actions = {a.name: a for a in used}
            keys = [_key(k, widths) for k in t["key"]]
            profile = t.get("action_profile") or t.get("act_prof_name")
            timeouts = bool(t.get("support_timeout"))
            out.tables[t["name"]] = TableInfo(t["name"], t["match_type"], t["type"], keys, actions, profile, timeouts)
            if profile is not None:
                out.profiles.setdefault(profile, {}).update(actions)
    for field_name, arrays in (("counter", out.counters), ("meter", out.meters), ("register", out.registers)):
        for a in document.get(f"{field_name}_arrays", ()):
            arrays[a["name"]] = Array(a["name"], a.get("binding") if a.get("is_direct") else None)
    out.value_sets = {v["name"]: v["compressed_bitwidth"] for v in document.get("parse_vsets", ())}
    out.hashes = {c["name"]: c["algo"] for c in document.get("calculations", ())}
    out.learn_lists = [_learn_list(each, widths) for each in document.get("learn_lists", ())]
    return out


def _learn_list(each: Any, widths: Mapping[tuple[str, str], int]) -> LearnListInfo:
    bits = [widths[tuple(e["value"])] if e["type"] == "field" else 4 * (len(e["value"]) - 2) for e in each["elements"]]
    return LearnListInfo(each["id"], each["name"], tuple((width + 7) // 8 for width in bits))


def _widths(document: Any) -> dict[tuple[str, str], int]:
    types = {t["name"]: t["fields"] for t in document["header_types"]}
    return {
        (h["name"], f[0]): f[1] if isinstance(f[1], int) else 0
        for h in document["headers"]
        for f in types[h["header_type"]]
    }


def _key(key: Any, widths: Mapping[tuple[str, str], int]) -> tuple[str, str, int]:
    if key["match_type"] == "valid":
        return f"{key['target']}_valid", "valid", 1
    header, field_name = key["target"]
    if field_name == "$valid$":
        return f"{header}_valid", key["match_type"], 1
    return f"{header}.{field_name}", key["match_type"], widths[header, field_name]


def find(things: Mapping[str, _T], name: str, kind: str) -> _T:
    """The thing of this name, or the only one whose name ends so.

    Raises:
        InputError: there is none, or more than one.
    """
    if name in things:
        return things[name]
    candidates = [n for n in things if n.endswith(f".{name}")]
    if len(candidates) != 1:
        raise InputError(f"Invalid {kind} name ({name})")
    return things[candidates[0]]


def octets(text: str, width: int) -> bytes:
    """A value of ``width`` bits: a number, an IPv4 or IPv6 address, or a MAC address.

    Raises:
        InputError: the text is not a value, or does not fit.
    """
    size = (width + 7) // 8
    try:
        if width == 32 and text.count(".") == 3:
            return ipaddress.IPv4Address(text).packed
        if width == 128 and ":" in text:
            return ipaddress.IPv6Address(text).packed
        if width == 48 and ":" in text:
            data = bytes(int(part, 16) for part in text.split(":"))
            if len(data) != 6:
                raise InputError("Invalid MAC address")
            return data
        return int(text, 0).to_bytes(size, "big")
    except OverflowError:
        raise InputError(f"Parameter is too large: {text} does not fit {width} bits") from None
    except ValueError:
        raise InputError("Invalid input, could not cast to integer, try in hex with 0x prefix") from None


def match_key(table: TableInfo, words: list[str]) -> list[dict[str, Any]]:
    """The keys of an entry as they travel.

    Raises:
        InputError: another number of keys, or one that is not of its kind.
    """
    if len(words) != len(table.keys):
        raise InputError(f"Table {table.name} needs {len(table.keys)} key fields")
    return [_param(word, kind, width) for word, (_, kind, width) in zip(words, table.keys, strict=True)]


def _param(word: str, kind: str, width: int) -> dict[str, Any]:
    separators = {"lpm": "/", "ternary": "&&&", "range": "->"}
    if kind not in separators:
        if kind == "valid":
            return {"type": 3, "valid": {"key": word not in {"0", "false", "False"}}}
        return {"type": 0, "exact": {"key": octets(word, width)}}
    left, separator, right = word.partition(separators[kind])
    if not separator:
        raise InputError(f"Invalid {kind} value {word}, use '{separators[kind]}' to separate its parts")
    if kind == "lpm":
        if not right.isdecimal():
            raise InputError(f"Invalid LPM value {word}: the length is not a number")
        return {"type": 1, "lpm": {"key": octets(left, width), "prefix_length": int(right)}}
    first, second = octets(left, width), octets(right, width)
    if kind == "ternary":
        return {"type": 2, "ternary": {"key": first, "mask": second}}
    if first > second:
        raise InputError(f"start is greater than end in expression {word}")
    return {"type": 4, "range": {"start": first, "end_": second}}


def shown(param: Mapping[str, Any], text: str = "") -> tuple[str, str]:
    """Kind and value of a key for display; ``text`` stands between the octets."""
    kind = ("exact", "lpm", "ternary", "valid", "range")[param["type"]]
    inner = param[kind]
    if kind == "exact":
        return kind, inner["key"].hex(text) if text else inner["key"].hex()
    if kind == "valid":
        return kind, "01" if inner["key"] else "00"
    left, right = (inner["start"], inner["end_"]) if kind == "range" else (inner["key"], inner.get("mask", b""))
    first, second = (v.hex(text) if text else v.hex() for v in (left, right))
    if kind == "lpm":
        return kind, f"{first}/{inner['prefix_length']}"
    return kind, f"{first} &&& {second}" if kind == "ternary" else f"{first} -> {second}"
