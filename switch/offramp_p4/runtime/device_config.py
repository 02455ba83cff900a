# SPDX-License-Identifier: Apache-2.0
"""Contents of ``p4_device_config``: the text of a P4 program, or bmv2's JSON, bare or in PI's ``P4DeviceConfig``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from offramp_base.errors import OfframpError
from offramp_p4.runtime.entities.base import invalid

if TYPE_CHECKING:
    from offramp_p4.ir import Program

_DEVICE_DATA: Final = 3
"""Number of the field ``device_data`` of ``p4.tmp.P4DeviceConfig``."""


@dataclass(frozen=True)
class DeviceConfig:
    """A program as a controller pushes it.

    Attributes:
        text: P4 source or bmv2's JSON.
        p4info: serialised, for JSON; empty without one.
    """

    text: str
    p4info: bytes = b""

    @property
    def is_json(self) -> bool:
        """Whether it is compiled for bmv2."""
        return self.text.lstrip().startswith("{")

    def load(self, name: str) -> Program:
        """The program; it may include and quote nothing of this machine (see :func:`~offramp_p4.frontend.load_pushed`).

        Raises:
            OfframpError: it is refused.
        """
        if not self.is_json:
            from offramp_p4.frontend import load_pushed

            return load_pushed(self.text, name)
        from offramp_base.p4rt import p4info
        from offramp_p4.extensions import FORMATS, extension

        info = p4info.parse(self.p4info) if self.p4info else None
        return extension(FORMATS, "json")(self.text, name, info)


def device_config(given: Any) -> DeviceConfig:
    """The program in a ForwardingPipelineConfig.

    Raises:
        RpcError: INVALID_ARGUMENT, it is neither text nor a ``P4DeviceConfig``.
    """
    data: bytes = given.p4_device_config
    if not data:
        raise invalid("p4_device_config is empty; this switch takes the text of a P4 program or bmv2's JSON")
    inner = _device_data(data)
    try:
        text = (data if inner is None else inner).decode("utf-8")
    except UnicodeDecodeError:
        raise invalid("p4_device_config is not text; this switch takes a P4 program or bmv2's JSON") from None
    config = DeviceConfig(text)
    return DeviceConfig(text, given.p4info.SerializeToString()) if config.is_json else config


def _device_data(data: bytes) -> bytes | None:
    """``device_data`` of a serialised ``P4DeviceConfig``; None if ``data`` is none."""
    at, last = 0, None
    try:
        while at < len(data):
            key, at = _varint(data, at)
            if key & 7 == 0:
                _, at = _varint(data, at)
            elif key & 7 == 2:
                size, at = _varint(data, at)
                if at + size > len(data):
                    return None
                if key >> 3 == _DEVICE_DATA:
                    last = data[at : at + size]
                at += size
            else:
                return None
    except IndexError:
        return None
    return last


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        octet = data[at]
        value, shift, at = value | (octet & 0x7F) << shift, shift + 7, at + 1
        if not octet & 0x80:
            return value, at
        if shift > 63:
            raise IndexError


def check_p4info(info: Any, program: Program) -> None:
    """See that the P4Info that came with bmv2's JSON describes it.

    Raises:
        OfframpError: it names what the program lacks, or other keys, parameters or widths.
    """
    from offramp_p4.state.match import key_width

    tables = {t.name: t for t in program.tables}
    actions = {a.name: a for a in program.actions}
    names = {a.preamble.id: a.preamble.name for a in info.actions}
    externs = {i.name for i in program.externs}
    for t in info.tables:
        table = tables.get(t.preamble.name)
        if table is None:
            raise OfframpError(f"the P4Info is not of this program: it has no table {t.preamble.name}")
        widths = [key_width(k.expr.type) for k in table.keys if k.match_kind != "selector"]
        translated = [f.type_name.name for f in t.match_fields]
        if len(widths) != len(t.match_fields) or any(
            f.bitwidth not in {0, width} and not named
            for f, width, named in zip(t.match_fields, widths, translated, strict=False)
        ):
            raise OfframpError(f"the P4Info is not of this program: table {table.name} has other keys")
        known = {a.action.name for a in table.actions}
        for ref in t.action_refs:
            if names.get(ref.id) not in known:
                raise OfframpError(
                    f"the P4Info is not of this program: table {table.name} has no action {ref.id:#010x}"
                )
    for a in info.actions:
        action = actions.get(a.preamble.name)
        if action is not None and len(action.params) != len(a.params):
            raise OfframpError(f"the P4Info is not of this program: action {action.name} has other parameters")
    for field in ("counters", "meters", "registers", "action_profiles", "direct_counters", "direct_meters"):
        for thing in getattr(info, field):
            if thing.preamble.name not in externs:
                raise OfframpError(f"the P4Info is not of this program: there is no {thing.preamble.name}")
    for v in info.value_sets:
        if v.preamble.name not in {s.name for s in program.value_sets}:
            raise OfframpError(f"the P4Info is not of this program: there is no value set {v.preamble.name}")
