# SPDX-License-Identifier: Apache-2.0
"""The control plane of the cache: which keys the switch holds, and from which version on it answers.

A new key is *followed* first: its entry exists, with a floor that no version reaches, so the switch keeps the newest
reply that passes and answers nothing. Then the store is asked for the key's version, which becomes the floor. Versions
told to clients before the entry existed are at most that one; later ones the switch has kept. So its answers are never
older than what any client knows (:mod:`offramp.leo.kvcache.front`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from offramp.leo.kvcache.wire import MOST_VERSION, USUAL_SLOTS
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

KEYS: Final = "KvCacheIngress.keys"
_HOLD: Final = "KvCacheIngress.hold"
_NEWEST: Final = "KvCacheIngress.newest"
_HITS: Final = "KvCacheIngress.hits"
_MISSES: Final = "KvCacheIngress.misses"
_MACS: Final = "KvCacheIngress.macs"
_FORWARD: Final = "KvCacheIngress.forward"
_STAYS: Final = 0.8
"""Divisor of held keys' counts, so that another key replaces one only with clearly more requests."""


class CacheControl:
    """The cache of a switch that runs ``p4/kvcache``.

    Args:
        session: P4Runtime session of the switch, whose program is pushed.
        port: port that leads to the store.

    Raises:
        OfframpError: the switch runs another program.
    """

    def __init__(self, session: Session, port: int) -> None:
        self._session, self._port = session, port
        tables = session.index.tables
        self._prefix = next((p for p in ("", "pipe.") if p + KEYS in tables), None)
        if self._prefix is None:
            raise OfframpError(f"switch {session.name}: its program is not p4/kvcache")
        self.slots = int(tables[self._prefix + KEYS].size)
        self._held: dict[int, int] = {}
        self._followed: dict[int, int] = {}
        self._free = list(range(self.slots))[::-1]
        self._used: set[int] = set()  # slots whose newest version may be that of another key
        self._seen: dict[int, int] = {}

    @classmethod
    def begin(cls, session: Session, port: int, slots: int = USUAL_SLOTS) -> CacheControl:
        """Take over a switch, which is given the program unless it runs it, with an empty cache.

        Args:
            session: P4Runtime session of the switch.
            port: port that leads to the store.
            slots: most keys that a program holds which is given to the switch.
        """
        try:
            control = cls(session, port)
        except OfframpError:
            session.push(b"", p4_text("kvcache/v1model.p4", {"SLOTS": slots}).encode())
            return cls(session, port)
        table = control._name(KEYS)
        session.delete(session.read([session.table_entry(table, {})]))
        session.write_register(control._name(_NEWEST), None, 0)
        return control

    @property
    def held(self) -> AbstractSet[int]:
        """Keys that the switch answers; a view."""
        return self._held.keys()

    @property
    def followed(self) -> AbstractSet[int]:
        """Keys whose passing replies the switch keeps; a view."""
        return self._followed.keys()

    def forward(self, ports: Mapping[bytes, int]) -> None:
        """Send frames for these MAC addresses to these ports."""
        make = self._session.table_entry
        table, action = self._name(_MACS), self._action(_FORWARD)
        known = {int.from_bytes(each.match[0].exact.value, "big") for each in self._session.read_table(table)}
        rows = {int.from_bytes(mac, "big"): port for mac, port in ports.items()}
        entries = {mac: make(table, {"dst_addr": mac}, action, {"port": port}) for mac, port in rows.items()}
        self._session.modify(entry for mac, entry in entries.items() if mac in known)
        self._session.insert(entry for mac, entry in entries.items() if mac not in known)

    def follow(self, keys: Iterable[int]) -> None:
        """Let the switch keep passing replies of keys without answering yet.

        Raises:
            OfframpError: they are more than it can hold; nothing is changed.
        """
        new = [key for key in dict.fromkeys(keys) if key not in self._held and key not in self._followed]
        if len(new) > len(self._free):
            raise OfframpError(f"cache: {len(new)} keys, and {len(self._free)} of {self.slots} slots are free")
        slots = {key: self._free.pop() for key in new}
        make = self._session.make.register
        self._session.modify(make(self._name(_NEWEST), slot, 0) for slot in slots.values() if slot in self._used)
        self._session.insert(self._entry(key, slot, MOST_VERSION) for key, slot in slots.items())
        self._used.update(slots.values())
        self._followed |= slots

    def serve(self, floors: Mapping[int, int]) -> None:
        """Let the switch answer for keys that it follows, from a version on: the store's when it was asked."""
        self._session.modify(self._entry(key, self._followed[key], floor) for key, floor in floors.items())
        for key in floors:
            self._held[key] = self._followed.pop(key)

    def drop(self, keys: Iterable[int]) -> None:
        """Remove keys from the cache."""
        gone = {key: (self._held if key in self._held else self._followed).pop(key) for key in dict.fromkeys(keys)}
        self._session.delete(self._entry(key, slot, MOST_VERSION) for key, slot in gone.items())
        self._free += gone.values()

    def choose(self, asked: Counter[int], most: int) -> list[int]:
        """The most requested keys: counted by the switch for those that it holds, by the store for others.

        Args:
            asked: requests that reached the store since the last call, by key.
            most: largest number of keys.
        """
        cells = self._session.read_counter(self._name(_HITS))
        wanted = Counter(asked)
        for key, slot in self._held.items():
            hits = cells.get(slot, (0, 0))[0]
            wanted[key] += round((hits - self._seen.get(slot, 0)) / _STAYS)
        self._seen = {slot: packets for slot, (packets, _) in cells.items()}
        return [key for key, _ in wanted.most_common(min(most, self.slots))]

    def counts(self) -> tuple[int, int]:
        """Number of GETs that the switch has answered, and of those that it has passed on."""
        hits = sum(packets for packets, _ in self._session.read_counter(self._name(_HITS)).values())
        return hits, self._session.read_counter(self._name(_MISSES))[0][0]

    def _name(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def _entry(self, key: int, slot: int, floor: int) -> object:
        params = {"at": slot, "from_version": floor, "port": self._port}
        return self._session.table_entry(self._name(KEYS), {"key": key}, self._action(_HOLD), params)

    def _action(self, name: str) -> str:
        """Full name of an action; in TNA programs, actions of a control itself have no pipe's name in front."""
        return next(each for each in (self._name(name), name) if each in self._session.index.actions)
