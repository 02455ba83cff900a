# SPDX-License-Identifier: Apache-2.0
"""ValueSetEntry (section 9.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import ById, modify_only
from offramp_p4.runtime.entities.matching import KeyCodec
from offramp_p4.state import ValueSetState


class ValueSetHandler:
    """ValueSetEntry: the members of parser value sets, always all at once."""

    def __init__(self, sets: ById[tuple[ValueSetState, KeyCodec]]) -> None:
        self._sets = sets

    def write(self, kind: int, entry: Any) -> None:
        """Replace the members."""
        state, codec = self._sets.get(entry.value_set_id)
        modify_only(kind, codec.what)
        members = [codec.decode(member.match) for member in entry.members]
        if len(set(members)) != len(members):
            raise RpcError(Code.ALREADY_EXISTS, f"{codec.what}: a member is given twice")
        state.set(members)

    def read(self, wanted: Any) -> Iterator[Any]:
        """The members of one set or of all."""
        for identifier, (state, codec) in self._sets.select(wanted.value_set_id):
            members = [v1.ValueSetMember(match=codec.encode(member)) for member in state.members]
            yield v1.Entity(value_set_entry=v1.ValueSetEntry(value_set_id=identifier, members=members))
