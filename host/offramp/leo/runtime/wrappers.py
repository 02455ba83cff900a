# SPDX-License-Identifier: Apache-2.0
"""Functions that an application or a vendor registers by name and role (specification section 5, table 6.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from offramp_base.errors import OfframpError

ROLES: Final = ("cpu", "acc")


class Wrappers:
    """Four tables of functions: communication, memory, time stamps, application."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str, str], Callable[..., Any]] = {}

    def reg_comm_func(self, f: Callable[..., Any], n: str, r: str) -> None:
        """Register hardware's communication function: ``connect`` opens a link in place of LEO's own transports.

        Raises:
            OfframpError: no such role, or the name is taken in it.
        """
        self._register("communication", f, n, r)

    def reg_mem_func(self, f: Callable[..., Any], n: str, r: str) -> None:
        """Register a memory function: ``malloc`` gives a :class:`offramp.device.DeviceMemory` for a role.

        Raises:
            OfframpError: no such role, or the name is taken in it.
        """
        self._register("memory", f, n, r)

    def reg_ts_func(self, f: Callable[[], int], n: str) -> None:
        """Register a time-stamp service in ns: ``now`` replaces the machine's monotonic clock.

        Raises:
            OfframpError: the name is taken.
        """
        self._register("time stamp", f, n, ROLES[0])

    def reg_app_func(self, f: Callable[[bytes], bytes], n: str, r: str) -> None:
        """Register an application's function from a message to its answer, for a role.

        Raises:
            OfframpError: no such role, or the name is taken in it.
        """
        self._register("application", f, n, r)

    def call(self, kind: str, n: str, r: str) -> Callable[..., Any]:
        """The registered function of a kind.

        Raises:
            OfframpError: it is not registered.
        """
        registered = self._functions.get((kind, n, r))
        if registered is None:
            raise OfframpError(f"{kind} function {n} of role {r}: not registered")
        return registered

    def get(self, kind: str, n: str, r: str = ROLES[0]) -> Callable[..., Any] | None:
        """The function, if there is one."""
        return self._functions.get((kind, n, r))

    def names(self, kind: str, r: str) -> tuple[str, ...]:
        """Names registered for a role."""
        return tuple(n for k, n, role in self._functions if (k, role) == (kind, r))

    def _register(self, kind: str, f: Callable[..., Any], n: str, r: str) -> None:
        if r not in ROLES:
            raise OfframpError(f"{kind} function {n}: role {r}: expected cpu or acc")
        if not n or not callable(f):
            raise OfframpError(f"{kind} function {n!r}: expected a name and a function")
        if (kind, n, r) in self._functions:
            raise OfframpError(f"{kind} function {n} of role {r}: registered already")
        self._functions[kind, n, r] = f
