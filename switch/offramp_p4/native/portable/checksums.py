# SPDX-License-Identifier: Apache-2.0
"""``Checksum`` and ``InternetChecksum``, as in :mod:`offramp_p4.portable.checksums`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.native.llvm import Value, i64
from offramp_p4 import ir
from offramp_p4.engine.core import argument, instance
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.packing import packed
from offramp_p4.native.portable.functions import algorithm_of
from offramp_p4.native.runtime.portable.gathering import Gathered, forget, gather_data, gathered_at, gathered_bytes
from offramp_p4.native.runtime.portable.sums import add_words, subtract_words
from offramp_p4.portable.functions import result_mask

if TYPE_CHECKING:
    from offramp_p4.native.portable.target import NativePortableTarget


def builders(target: NativePortableTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Checksum", "clear"): lambda g, e: _clear(target, g, e),
        ("Checksum", "update"): lambda g, e: _update(target, g, e),
        ("Checksum", "get"): lambda g, e: _get(target, g, e),
        ("InternetChecksum", "clear"): lambda g, e: _set_state(target, g, e, i64(0)),
        ("InternetChecksum", "add"): lambda g, e: _sum(target, g, e),
        ("InternetChecksum", "subtract"): lambda g, e: _sum(target, g, e),
        ("InternetChecksum", "get"): lambda g, e: g.b.not_(_state(target, g, e)),
        ("InternetChecksum", "get_state"): lambda g, e: _state(target, g, e),
        ("InternetChecksum", "set_state"): lambda g, e: _set_state(target, g, e, g.word_of(argument(e, 0))),
    }


def _gathered(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    """The address of what describes the data of a ``Checksum``."""
    return g.cell(target.cell(instance(e), 8 * Gathered.WORDS))


def _clear(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    g.call(forget, _gathered(target, g, e))
    return None


def _update(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    data = packed(g, argument(e, 0))
    g.call(gather_data, g.context, _gathered(target, g, e), data.address, data.size)
    return None


def _get(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    function, data = algorithm_of(instance(e), "hash"), _gathered(target, g, e)
    at = g.b.inttoptr(g.call(gathered_at, g.context, data), g.memory.type)
    number = g.call(function, g.context, at, g.call(gathered_bytes, data))
    return g.resize(number, result_mask(e).bit_length())


def _state(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    return g.resize(g.load_number(g.cell(target.cell(instance(e))), 64), 16)


def _set_state(target: NativePortableTarget, g: Emitter, e: ir.ExternCall, word: Value) -> Value:
    g.store_number(word, g.cell(target.cell(instance(e))), 64)
    return None


def _sum(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    data = packed(g, argument(e, 0))
    before = g.load_number(g.cell(target.cell(instance(e))), 64)
    function = add_words if e.method == "add" else subtract_words
    return _set_state(target, g, e, g.call(function, before, data.address, data.size))
