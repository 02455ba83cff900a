# SPDX-License-Identifier: Apache-2.0
"""Settings of a store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BYTES

SYNC: Final = {
    "always": "before a write is answered; many share one sync",
    "everysec": "every second",
    "no": "when the kernel decides",
}

EVICTION: Final = {
    "auto": "allkeys-lru where memcached's protocol alone is served, as memcached does; noeviction elsewhere",
    "noeviction": "none: writes are refused",
    "allkeys-lru": "those not used for longest",
    "allkeys-lfu": "those used most rarely",
    "allkeys-random": "any",
    "volatile-lru": "of those that expire, those not used for longest",
    "volatile-lfu": "of those that expire, those used most rarely",
    "volatile-random": "any of those that expire",
    "volatile-ttl": "those that expire first",
}


@dataclass(frozen=True)
class StoreSettings:
    """Addresses at which a store listens, what it keeps, and its limits."""

    listen: Annotated[
        str,
        Field(
            "Address for clients with the token (libofframp), HOST:PORT or unix:PATH; empty: none",
            group="Addresses",
        ),
    ] = "127.0.0.1:7878"
    resp: Annotated[str, Field("Address for clients of redis' protocol (RESP2 and RESP3); empty: none")] = ""
    memcached: Annotated[str, Field("Address for clients of memcached's text and meta protocol; empty: none")] = ""
    insecure: Annotated[bool, Field("Serve other machines although no client authenticates")] = False
    shards: Annotated[
        int,
        Field("Shards, one per core, that clients of redis' clusters see at consecutive ports", least=1, most=64),
    ] = 1
    follow: Annotated[str, Field("HOST:PORT of the store to follow: its --resp; empty: none")] = ""
    folder: Annotated[
        Path | None, Field("Folder of log and snapshots; without, nothing is kept", group="Disk", filled=True)
    ] = None
    sync: Annotated[str, Field("When the log is synced", choices=SYNC)] = "everysec"
    cut: Annotated[bool, Field("Give up everything that a damaged log has after the damage")] = False
    memory: Annotated[
        int, Field("Memory for keys, values and table; 0: no limit", unit=BYTES, least=0, group="Limits")
    ] = 0
    eviction: Annotated[str, Field("Which keys go when the memory is full", choices=EVICTION)] = "auto"
    value_bytes: Annotated[int, Field("Size of the longest value", unit=BYTES, least=64, most=8 << 20)] = 1 << 20
    connections: Annotated[int, Field("Connections at a time", least=1, most=1_000_000)] = 10_000
    spin_us: Annotated[
        int, Field("Longest polling for work before it sleeps, where polling pays; 0: never", least=0, most=1000)
    ] = 50

    def __post_init__(self) -> None:
        check(self)
        if not (self.listen or self.resp or self.memcached):
            raise SettingsError("listen", "expected an address here, in {resp} or in {memcached}")
        if self.shards > 1:
            self._check_shards()

    def _check_shards(self) -> None:
        """Shards serve redis' protocol alone: others have no clusters."""
        for name in ("listen", "memcached", "follow"):
            if value := getattr(self, name):
                raise SettingsError(name, "expected none with {shards}", str(value))
        if self.resp.startswith("unix:"):
            raise SettingsError("resp", "expected HOST:PORT with {shards}", self.resp)

    @property
    def policy(self) -> str:
        """Name of the eviction policy."""
        if self.eviction != "auto":
            return self.eviction
        return "allkeys-lru" if self.memcached and not (self.resp or self.listen) else "noeviction"
