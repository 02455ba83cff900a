"""DigestEntry: which digests the controller wants and how (section 9.8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp.switch.p4rt.schema import v1
from offramp.switch.p4rt.status import Code, RpcError
from offramp_sim.p4.runtime.entities.base import DELETE, INSERT, ById, invalid


class DigestHandler:
    """DigestEntry: the configuration of each digest; a digest without one is not sent."""

    def __init__(self, digests: ById[str]) -> None:
        self._digests = digests
        self.configs: dict[int, Any] = {}

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update."""
        name = self._digests.get(entry.digest_id)
        exists = entry.digest_id in self.configs
        if kind == INSERT and exists:
            raise RpcError(Code.ALREADY_EXISTS, f"digest {name} is configured")
        if kind != INSERT and not exists:
            raise RpcError(Code.NOT_FOUND, f"digest {name} is not configured")
        if kind == DELETE:
            del self.configs[entry.digest_id]
            return
        wanted = entry.config
        if min(wanted.max_timeout_ns, wanted.max_list_size, wanted.ack_timeout_ns) < 0:
            raise invalid(f"digest {name}: time-outs and list size are not negative")
        self.configs[entry.digest_id] = wanted

    def read(self, wanted: Any) -> Iterator[Any]:
        """The configuration of one digest or of all."""
        for identifier, _ in self._digests.select(wanted.digest_id):
            if identifier in self.configs:
                made = v1.DigestEntry(digest_id=identifier, config=self.configs[identifier])
                yield v1.Entity(digest_entry=made)
