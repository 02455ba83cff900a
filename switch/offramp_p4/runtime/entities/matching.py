# SPDX-License-Identifier: Apache-2.0
"""Match keys and actions between P4Runtime messages and the switch's state (section 9.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import config, v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.p4rt.values import decode, encode, prefix_mask
from offramp_p4.runtime.entities.base import invalid
from offramp_p4.runtime.translation import Plain, TranslationCodec
from offramp_p4.state import (
    ANY,
    ActionData,
    Exact,
    Lpm,
    Match,
    Optional,
    Range,
    Ternary,
)

_F = v1.FieldMatch
CodecOf = Callable[[Any], TranslationCodec]
"""The codec of a MatchField, Param or Metadata of P4Info."""
_KINDS = {value: name.lower() for name, value in config.MatchField.MatchType.items()}


class KeyCodec:
    """The match fields of one table or value set; ``what`` names it in messages."""

    def __init__(self, fields: Any, what: str, codec_of: CodecOf) -> None:
        self.what = what
        self._fields = [(f.id, _KINDS[f.match_type], f.bitwidth, f"{what}, key {f.name or f.id}") for f in fields]
        self._codecs = [codec_of(f) for f in fields]
        self._position = {number: i for i, (number, *_) in enumerate(self._fields)}
        self.needs_priority = any(kind in {"ternary", "range", "optional"} for _, kind, *_ in self._fields)

    def decode(self, matches: Any) -> tuple[Match, ...]:
        """Keys in order; fields left out are don't-cares.

        Raises:
            RpcError: INVALID_ARGUMENT, naming the field.
        """
        out: list[Match] = [ANY] * len(self._fields)
        for match in matches:
            position = self._position.get(match.field_id)
            if position is None:
                raise invalid(f"{self.what} has no match field with id {match.field_id}")
            if out[position] is not ANY:
                raise invalid(f"{self._fields[position][3]} is given twice")
            _, kind, width, what = self._fields[position]
            sent = match.WhichOneof("field_match_type")
            if sent != kind:
                raise invalid(f"{what}: expected a match of kind {kind}, got {sent or 'none'}")
            codec = self._codecs[position]
            try:
                if kind in _SINGLE:
                    out[position] = _SINGLE[kind](codec.decode(getattr(match, kind).value, what))
                elif codec.plain:
                    out[position] = _DECODERS[kind](getattr(match, kind), width, what)
                else:
                    raise invalid(f"{what}: translated values can only be matched exactly")
            except RpcError:
                raise
            except OfframpError as error:
                raise invalid(str(error)) from None
        for key, (_, kind, _, what) in zip(out, self._fields, strict=True):
            if kind == "exact" and key is ANY:
                raise invalid(f"{what} is missing: an exact match has no don't-care")
        return tuple(out)

    @property
    def plain_fields(self) -> list[tuple[int, str, int]] | None:
        """Number, kind and width of each key; None if values of one are translated or signed."""
        if not all(type(codec) is Plain for codec in self._codecs):
            return None
        return [(number, kind, width) for number, kind, width, _ in self._fields]

    def encode(self, keys: tuple[Match, ...]) -> list[Any]:
        """FieldMatch messages; don't-cares are left out."""
        fields = zip(keys, self._fields, self._codecs, strict=True)
        return [_encode(key, number, codec) for key, (number, *_), codec in fields if key is not ANY]


def _lpm(match: Any, width: int, what: str) -> Match:
    value, length = decode(match.value, width, what), match.prefix_len
    if not 0 < length <= width:
        raise invalid(f"{what}: prefix length {length} is outside 1..{width} (leave out a don't-care)")
    if value & ~prefix_mask(length, width):
        raise invalid(f"{what}: {value:#x} has bits beyond its prefix of {length}")
    return Lpm(value, length)


def _ternary(match: Any, width: int, what: str) -> Match:
    value, mask = decode(match.value, width, what), decode(match.mask, width, f"{what} mask")
    if not mask:
        raise invalid(f"{what}: the mask is 0 (leave out a don't-care)")
    if value & ~mask:
        raise invalid(f"{what}: {value:#x} has bits outside its mask {mask:#x}")
    return Ternary(value, mask)


def _range(match: Any, width: int, what: str) -> Match:
    low, high = decode(match.low, width, what), decode(match.high, width, what)
    if low > high:
        raise invalid(f"{what}: range {low}..{high} is empty")
    if (low, high) == (0, (1 << width) - 1):
        raise invalid(f"{what}: the range holds every value (leave out a don't-care)")
    return Range(low, high)


_SINGLE: dict[str, Callable[[int], Match]] = {"exact": Exact, "optional": Optional}
_DECODERS = {"lpm": _lpm, "ternary": _ternary, "range": _range}


def _encode(key: Match, number: int, codec: TranslationCodec) -> Any:
    match key:
        case Exact(value):
            return _F(field_id=number, exact=_F.Exact(value=codec.encode(value)))
        case Optional(value):
            return _F(field_id=number, optional=_F.Optional(value=codec.encode(value)))
        case Lpm(value, length):
            return _F(field_id=number, lpm=_F.LPM(value=encode(value), prefix_len=length))
        case Ternary(value, mask):
            return _F(field_id=number, ternary=_F.Ternary(value=encode(value), mask=encode(mask)))
        case Range(low, high):
            return _F(field_id=number, range=_F.Range(low=encode(low), high=encode(high)))
        case _:
            raise AssertionError(key)


class ActionCodec:
    """The actions of a program."""

    def __init__(self, info: Any, codec_of: CodecOf) -> None:
        self._by_id: dict[int, tuple[str, dict[int, tuple[int, TranslationCodec, str]]]] = {
            action.preamble.id: (
                action.preamble.name,
                {p.id: (i, codec_of(p), p.name) for i, p in enumerate(action.params)},
            )
            for action in info.actions
        }
        self._by_name = {
            name: (number, [(p, codec) for p, (_, codec, _) in params.items()])
            for number, (name, params) in self._by_id.items()
        }

    def name(self, identifier: int) -> str:
        """The control-plane name of an action.

        Raises:
            RpcError: no action has this id.
        """
        if identifier not in self._by_id:
            raise invalid(f"no action has id {identifier:#010x}")
        return self._by_id[identifier][0]

    def plain_params(self, identifier: int) -> list[tuple[int, int]] | None:
        """Number and width of each parameter; None if values of one are translated, signed or of any width."""
        params = self._by_id[identifier][1]
        widths = [(number, codec.width) for number, (_, codec, _) in params.items() if type(codec) is Plain]
        known = [(number, width) for number, width in widths if width is not None]
        return known if len(known) == len(params) else None

    def decode(self, action: Any) -> ActionData:
        """An action with its arguments in order.

        Raises:
            RpcError: INVALID_ARGUMENT; a parameter is unknown, missing, double or too wide.
        """
        name = self.name(action.action_id)
        params = self._by_id[action.action_id][1]
        if len(action.params) != len(params):
            raise invalid(f"action {name} takes {len(params)} parameters, got {len(action.params)}")
        args = [-1] * len(params)
        for param in action.params:
            if param.param_id not in params:
                raise invalid(f"action {name} has no parameter with id {param.param_id}")
            position, codec, word = params[param.param_id]
            if args[position] >= 0:
                raise invalid(f"action {name}: parameter {word} is given twice")
            try:
                args[position] = codec.decode(param.value, f"action {name}, parameter {word}")
            except RpcError:
                raise
            except OfframpError as error:
                raise invalid(str(error)) from None
        return ActionData(name, tuple(args))

    def encode(self, action: ActionData) -> Any:
        """The action as a message."""
        identifier, params = self._by_name[action.action]
        return v1.Action(
            action_id=identifier,
            params=[
                v1.Action.Param(param_id=number, value=codec.encode(value))
                for (number, codec), value in zip(params, action.args, strict=True)
            ],
        )


class ScopedActions:
    """The actions that one table allows, by the scope of their references (section 9.1.2)."""

    def __init__(self, table: Any, codec: ActionCodec, what: str) -> None:
        self._scopes = {ref.id: ref.scope for ref in table.action_refs}
        self._codec = codec
        self._what = what

    def decode(self, action: Any, *, default: bool) -> ActionData:
        """An action for an entry or as default.

        Raises:
            RpcError: the table does not have it, or not in this place.
        """
        name = self._codec.name(action.action_id)
        scope = self._scopes.get(action.action_id)
        if scope is None:
            raise invalid(f"{self._what} has no action {name}")
        refs = config.ActionRef
        if scope == (refs.TABLE_ONLY if default else refs.DEFAULT_ONLY):
            place = "as default action" if default else "in entries"
            raise RpcError(Code.PERMISSION_DENIED, f"{self._what}: action {name} is not allowed {place}")
        return self._codec.decode(action)
