# SPDX-License-Identifier: Apache-2.0
"""ExternEntry (section 9.9): the architectures here have no externs beyond those with entities of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp_p4.runtime.entities.base import invalid


class ExternHandler:
    """ExternEntry for a P4Info that lists no extern types: reading all gives nothing, any id is unknown."""

    def write(self, kind: int, entry: Any) -> None:  # noqa: ARG002
        """Refuse: there is no such extern."""
        raise invalid(f"no extern type has id {entry.extern_type_id:#x}")

    def read(self, wanted: Any) -> Iterator[Any]:
        """Read nothing for the wildcard; refuse any id as unknown."""
        if wanted.extern_type_id or wanted.extern_id:
            raise invalid(f"no extern type has id {wanted.extern_type_id:#x}")
        return iter(())
