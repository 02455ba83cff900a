# SPDX-License-Identifier: Apache-2.0
"""Tables, their actions, entries and action profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from offramp_p4 import ir
from offramp_p4.source import Unsupported
from offramp_p4.state import Exact, Lpm, Optional, Range, Ternary
from offramp_p4.state.match import ANY, key_width, prefix_mask
from offramp_p4.state.table import DEFAULT_SIZE, constant, source_match, source_ranks, supports_timeout
from offramp_p4.v1model.objects import constant as constructor_number
from offramp_p4_tools.bmv2.words import SELECTORS
from offramp_p4_tools.bmv2.write.expressions import digits
from offramp_p4_tools.bmv2.write.places import Json, bits_of

if TYPE_CHECKING:
    from offramp_p4.state.match import Match
    from offramp_p4_tools.bmv2.write.document import Document

_KIND: Final = {"optional": "ternary"}
"""Match kinds in bmv2's JSON for those that bmv2 does not know."""


class PipelineTables:
    """The tables of one pipeline.

    Attributes:
        profiles: the action profiles that they use.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.profiles: list[Json] = []
        self._profile_names: set[str] = set()

    def json(self, table: ir.MatchTable, following: dict[str, str | None], other: str | None) -> Json:
        """A table, with the nodes that follow it by action or by hit and miss."""
        choices = {self.document.action(a): a.action.name for a in table.actions}
        choices.setdefault(self.document.action(table.default.action), table.default.action.action.name)
        kinds = [_KIND.get(k.match_kind, k.match_kind) for k in table.keys if k.match_kind != "selector"]
        kind = next((k for k in ("range", "ternary", "lpm") if k in kinds), "exact")
        meter = table.properties.get("meters")
        out: Json = {
            "name": table.name,
            "id": self.document.number("table"),
            **self.document.source_info(table.pos),
            "key": [self._key(k) for k in table.keys if k.match_kind != "selector"],
            "match_type": kind,
            "type": "simple",
            "max_size": table.size or DEFAULT_SIZE,
            "with_counters": isinstance(table.properties.get("counters"), ir.ExternInstance),
            "support_timeout": supports_timeout(table),
            "direct_meters": meter.name if isinstance(meter, ir.ExternInstance) else None,
            "action_ids": list(choices),
            "actions": list(choices.values()),
            "base_default_next": other,
            "next_tables": following,
        }
        implementation = table.properties.get("implementation")
        simple = not isinstance(implementation, ir.ExternInstance)
        if isinstance(implementation, ir.ExternInstance):
            out["type"] = "indirect_ws" if implementation.extern in SELECTORS else "indirect"
            out["action_profile"] = implementation.name
            self._profile(implementation, table)
        elif table.entries:
            out["entries"] = self._entries(table)
        out["default_entry"] = {
            **self._action_entry(table.default),
            "action_const": table.const_default and simple,  # bmv2 refuses it elsewhere
            "action_entry_const": table.const_default,
        }
        return out

    def _key(self, key: ir.TableKey) -> Json:
        kind = _KIND.get(key.match_kind, key.match_kind)
        if kind not in {"exact", "lpm", "ternary", "range"}:
            raise Unsupported(key.expr.pos, f"match kind {kind} in bmv2's JSON")
        return {"match_type": kind, "name": key.name, "target": self.document.key_field(key), "mask": None}

    def _profile(self, profile: ir.ExternInstance, table: ir.MatchTable) -> None:
        if profile.name in self._profile_names:
            return
        self._profile_names.add(profile.name)
        selector = profile.extern in SELECTORS
        entry: Json = {"name": profile.name, "id": self.document.number("action profile")}
        entry["max_size"] = constructor_number(profile, 1 if selector else 0)
        if selector:
            fields: list[Any] = [self.document.key_field(k) for k in table.keys if k.match_kind == "selector"]
            inputs = [{"type": "field", "value": field} for field in fields]
            entry["selector"] = {"algo": self.document.algorithm(profile), "input": inputs}
        self.profiles.append(entry)

    def _action_entry(self, choice: ir.ActionChoice) -> Json:
        data = [digits(constant(e)) for e in choice.data]
        return {"action_id": self.document.action(choice.action), "action_data": data}

    def _entries(self, table: ir.MatchTable) -> list[Json]:
        keys = [k for k in table.keys if k.match_kind != "selector"]
        ranks = source_ranks(table)
        out: list[Json] = []
        for entry, rank in zip(table.entries, ranks, strict=True):
            entry_keys = entry.keys
            if len(entry_keys) == 1 and isinstance(entry_keys[0], ir.KeyAny):
                entry_keys = [entry_keys[0]] * len(keys)
            match_key = [
                _match(source_match(key, k.match_kind, key_width(k.expr.type)), k)
                for key, k in zip(entry_keys, keys, strict=True)
            ]
            info = self.document.source_info(entry.pos)
            out.append(
                {**info, "match_key": match_key, "action_entry": self._action_entry(entry.choice), "priority": rank}
            )
        return out


def _match(match: Match, key: ir.TableKey) -> Json:
    width = bits_of(key.expr.type).width
    octets, top = (width + 7) // 8, (1 << width) - 1
    kind = _KIND.get(key.match_kind, key.match_kind)

    def text(value: int) -> str:
        return digits(value, octets)

    if isinstance(match, Exact):
        return {"match_type": "exact", "key": text(match.value)}
    if isinstance(match, Lpm):
        return {
            "match_type": "lpm",
            "key": text(match.value & prefix_mask(match.prefix_len, width)),
            "prefix_length": match.prefix_len,
        }
    if isinstance(match, Ternary):
        return {"match_type": "ternary", "key": text(match.value), "mask": text(match.mask)}
    if isinstance(match, Optional):
        return {"match_type": "ternary", "key": text(match.value), "mask": text(top)}
    if isinstance(match, Range):
        return {"match_type": "range", "start": text(match.low), "end": text(match.high)}
    assert match is ANY
    if kind == "lpm":
        return {"match_type": "lpm", "key": text(0), "prefix_length": 0}
    if kind == "range":
        return {"match_type": "range", "start": text(0), "end": text(top)}
    return {"match_type": "ternary", "key": text(0), "mask": text(0)}
