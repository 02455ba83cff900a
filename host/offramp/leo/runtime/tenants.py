# SPDX-License-Identifier: Apache-2.0
"""Tenants share a requester's table by weight: the one furthest below its share is next (stride scheduling)."""

from __future__ import annotations

from collections import deque
from typing import Final

from offramp.leo.native.batch import RequestBatch, Words
from offramp.leo.runtime.requester import Requester
from offramp_base.errors import OfframpError

QUANTUM: Final = 32
"""Requests of one tenant that are admitted at a time."""
_TENANT_SHIFT: Final = 48


class _Tenant:
    def __init__(self, number: int, weight: float, limit: int) -> None:
        self.number, self.weight, self.limit = number, weight, limit
        self.queue: deque[tuple[RequestBatch, Words]] = deque()
        self.waiting = 0
        self.passed = 0.0


class Tenants:
    """Queues in front of a requester; the upper 16 bits of a user word name the tenant.

    Each tenant's queue holds up to ``limit`` requests. While several tenants have requests waiting, these are admitted
    in proportion to the weights; a tenant without any leaves its share to the others and does not save it for later.
    """

    def __init__(self, requester: Requester, limit: int = 1 << 16) -> None:
        self._requester, self._limit = requester, limit
        self._tenants: dict[str, _Tenant] = {}
        self._virtual = 0.0

    def add(self, name: str, weight: float = 1.0) -> None:
        """Add a tenant.

        Raises:
            OfframpError: the name is taken, or the weight is not above 0.
        """
        if name in self._tenants:
            raise OfframpError(f"tenant {name}: there is one already")
        if not 0 < weight < float("inf"):
            raise OfframpError(f"tenant {name}: weight {weight}: expected one above 0")
        self._tenants[name] = _Tenant(len(self._tenants), weight, self._limit)

    def submit(self, name: str, batch: RequestBatch, users: Words) -> int:
        """Queue requests; returns how many found room: the others must be offered again.

        Raises:
            OfframpError: no such tenant, or user words of more than 48 bits.
        """
        tenant = self._tenant(name)
        if len(users) and not 0 <= int(users.min()) <= int(users.max()) < 1 << _TENANT_SHIFT:
            raise OfframpError("tenants: expected user words of 48 bits")
        count = min(len(users), tenant.limit - tenant.waiting)
        if count <= 0:
            return 0
        if not tenant.waiting:
            tenant.passed = max(tenant.passed, self._virtual)
        tenant.queue.append((batch.part(0, count), users[:count] | tenant.number << _TENANT_SHIFT))
        tenant.waiting += count
        return count

    def admit(self) -> int:
        """Fill the requester's table by weight; returns how many requests were admitted."""
        total = 0
        while self._requester.free:
            ready = [t for t in self._tenants.values() if t.waiting]
            if not ready:
                break
            tenant = min(ready, key=lambda t: (t.passed, t.number))
            self._virtual = tenant.passed
            taken = self._take(tenant)
            tenant.passed += taken / tenant.weight
            total += taken
        return total

    def owner(self, users: Words) -> Words:
        """Number of the tenant of each user word, in the order in which tenants were added."""
        return users >> _TENANT_SHIFT

    def waiting(self, name: str) -> int:
        """Number of a tenant's requests that are not admitted yet."""
        return self._tenant(name).waiting

    def _tenant(self, name: str) -> _Tenant:
        if name not in self._tenants:
            raise OfframpError(f"tenant {name}: expected one of {', '.join(self._tenants) or 'none'}")
        return self._tenants[name]

    def _take(self, tenant: _Tenant) -> int:
        batch, users = tenant.queue[0]
        most = min(QUANTUM, len(users))
        taken = self._requester.admit(batch.part(0, most), users[:most])
        if taken == len(users):
            tenant.queue.popleft()
        else:
            tenant.queue[0] = batch.part(taken), users[taken:]
        tenant.waiting -= taken
        return taken
