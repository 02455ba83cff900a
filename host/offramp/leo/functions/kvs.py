# SPDX-License-Identifier: Apache-2.0
"""``kvs.lookup``: the address of a key's value, from a cuckoo hash table of 64-byte buckets (specification section 9).

A key lies in one of two buckets, given by the low bits of its CRC-32C and its CRC-32. A bucket is a line of 64
bytes with four slots of key and address; address 0 marks a free slot. A look-up reads two lines at most, which a device
can ask for at once. Only the host writes. It moves keys from the end of a chain of displacements to its beginning, so a
key that is in the table is found at any moment, also while others are inserted.

Request: the key, 8 bytes. Answer: the address, 8 bytes, 0 where the key is unknown.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.device import DeviceMemory
from offramp.leo.functions.crc import CRC32, CRC32C, Keys, crc
from offramp_base.errors import OfframpError

NAME: Final = "kvs.lookup"
SLOTS: Final = 4
LINE: Final = 64
SLOT: Final = 16
MOST_BUCKETS: Final = 1 << 32
SEARCHED: Final = 4096
"""Buckets that an insertion searches for a free slot before it gives up."""


def buckets_of(keys: Keys, buckets: int) -> npt.NDArray[np.int64]:
    """``(n, 2)``: both buckets of each key."""
    mask = np.uint32(buckets - 1)
    return np.stack([crc(CRC32C, keys) & mask, crc(CRC32, keys) & mask], axis=1).astype(np.int64)


class KeyIndex:
    """A table in a device's memory, with the host's operations that change it."""

    def __init__(self, memory: DeviceMemory, buckets: int) -> None:
        """Create an empty table.

        Args:
            memory: holds the table from its first byte.
            buckets: number of buckets, a power of two.

        Raises:
            OfframpError: the size is not a power of two, or the table does not fit.
        """
        if not 1 <= buckets <= MOST_BUCKETS or buckets & buckets - 1:
            raise OfframpError(f"kvs index of {buckets} buckets: expected a power of two up to 2^32")
        if buckets * LINE > memory.size:
            raise OfframpError(f"kvs index of {buckets} buckets: {buckets * LINE} bytes, the memory has {memory.size}")
        self.buckets = buckets
        self.keys = 0
        self._memory = memory
        blank = bytes(min(buckets, 1 << 14) * LINE)
        for start in range(0, buckets * LINE, len(blank)):
            memory.write(start, blank)

    def lookup(self, key: int) -> int:
        """The address of a key's value, or 0."""
        for bucket in self._buckets(key):
            for held, address in self._bucket(bucket):
                if address and held == key:
                    return address
        return 0

    def insert(self, key: int, address: int) -> None:
        """Insert ``key`` into the table, or change its address.

        Raises:
            OfframpError: the table is full, or key or address is invalid; the table is unchanged.
        """
        if not 0 <= key < 1 << 64 or not 0 < address < 1 << 64:
            raise OfframpError(f"kvs index: key {key}, address {address}: expected 64 bits, and an address above 0")
        for bucket in self._buckets(key):
            for slot, (held, there) in enumerate(self._bucket(bucket)):
                if there and held == key:
                    self._store(bucket, slot, key, address)
                    return
        chain = self._free(key)
        if chain is None:
            raise OfframpError(f"kvs index: no room for key {key} among {self.keys} in {self.buckets * SLOTS} slots")
        for (bucket, slot), (source, place) in zip(chain[:0:-1], chain[-2::-1], strict=True):
            self._store(bucket, slot, *self._bucket(source)[place])
        self._store(*chain[0], key, address)
        self.keys += 1

    def room(self, key: int) -> bool:
        """Whether ``key``, which is not in the table, could be inserted."""
        return self._free(key) is not None

    def remove(self, key: int) -> bool:
        """Remove ``key``; returns whether it was there."""
        for bucket in self._buckets(key):
            for slot, (held, address) in enumerate(self._bucket(bucket)):
                if address and held == key:
                    self._store(bucket, slot, 0, 0)
                    self.keys -= 1
                    return True
        return False

    def _free(self, key: int) -> list[tuple[int, int]] | None:
        """Slots of a shortest displacement chain: first ``key``'s; each entry moves to the next; the last is free."""
        before: dict[int, tuple[int, int] | None] = {}
        queue: deque[int] = deque()
        for bucket in self._buckets(key):
            if bucket not in before:
                before[bucket] = None
                queue.append(bucket)
        while queue and len(before) < SEARCHED:
            bucket = queue.popleft()
            held = self._bucket(bucket)
            for slot, (_, address) in enumerate(held):
                if not address:
                    return self._chain(bucket, slot, before)
            for slot, (other, _) in enumerate(held):
                for target in self._buckets(other):
                    if target not in before:
                        before[target] = (bucket, slot)
                        queue.append(target)
        return None

    @staticmethod
    def _chain(bucket: int, slot: int, before: dict[int, tuple[int, int] | None]) -> list[tuple[int, int]]:
        chain = [(bucket, slot)]
        while (source := before[chain[0][0]]) is not None:
            chain.insert(0, source)
        return chain

    def _buckets(self, key: int) -> tuple[int, int]:
        first, second = buckets_of(np.array([key], np.uint64), self.buckets)[0]
        return int(first), int(second)

    def _bucket(self, number: int) -> list[tuple[int, int]]:
        return list(struct.iter_unpack("<QQ", self._memory.read(number * LINE, LINE)))

    def _store(self, bucket: int, slot: int, key: int, address: int) -> None:
        line = bytearray(self._memory.read(bucket * LINE, LINE))
        struct.pack_into("<QQ", line, slot * SLOT, key, address)
        self._memory.write(bucket * LINE, line)


def lookup(table: npt.NDArray[np.uint64], keys: Keys) -> npt.NDArray[np.uint64]:
    """``(n,)`` addresses, 0 where unknown, as a device computes them.

    Args:
        table: ``(buckets, 4, 2)``, key and address of each slot.
        keys: ``(n,)`` keys.
    """
    slots = table[buckets_of(keys, len(table))].reshape(len(keys), 2 * SLOTS, 2)
    held = (slots[..., 0] == keys[:, None]) & (slots[..., 1] != 0)
    where = held.argmax(axis=1)
    addresses: npt.NDArray[np.uint64] = np.where(held.any(axis=1), slots[np.arange(len(keys)), where, 1], np.uint64(0))
    return addresses
