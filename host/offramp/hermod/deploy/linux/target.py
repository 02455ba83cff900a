# SPDX-License-Identifier: Apache-2.0
"""A plan on one interface: strict classes at its egress, all or nothing."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.linux.host import settings
from offramp.hermod.deploy.linux.show import root_of, state_from
from offramp.hermod.deploy.linux.state import HANDLE, TcState, state_for
from offramp.hermod.deploy.linux.tc import Tc, speed_bps
from offramp.hermod.deploy.target import Difference, in_use, require_equal
from offramp.hermod.queues import QueuePlan
from offramp_base import arguments
from offramp_base.errors import OfframpError, not_restored

KINDS = ("auto", "prio", "htb")


class LinuxTarget:
    """The egress of an interface.

    Args:
        interface: its name.
        plan: the plan that the interface is to have.
        kind: ``prio``, ``htb``, or ``auto``: htb if a rate is given or the kernel has no prio, which knows no rates.
        rate_bps: rate of the line in bits per second, for htb; None: what the interface reports.
        control, lowest, police: with htb, shares and rates as :class:`~offramp.hermod.deploy.limits.LineLimits` has
        them. tc: runs tc's commands.

    Raises:
        OfframpError: no such interface, an unknown kind, no rate, limits that are none or that prio cannot keep.
    """

    def __init__(
        self,
        interface: str,
        plan: QueuePlan,
        *,
        kind: str = "auto",
        rate_bps: int | None = None,
        control: float = 1.0,
        lowest: float = 0.0,
        police: Mapping[int, int] | None = None,
        tc: Tc | None = None,
    ) -> None:
        if kind not in KINDS:
            raise OfframpError(f"queueing discipline {kind}: expected {', '.join(KINDS)}")
        self.name = f"interface {interface}"
        try:
            socket.if_nametoindex(arguments.interface(interface))
        except (OSError, ValueError):
            raise OfframpError(f"{self.name}: no such interface") from None
        self._interface, self._plan, self._tc = interface, plan, tc or Tc()
        if kind == "auto":
            kind = "prio" if not (rate_bps or police) and self._tc.knows("prio") else "htb"
        if police and kind == "prio":
            raise OfframpError(f"{self.name}: prio limits no queue; expected htb")
        line = rate_bps or speed_bps(interface)
        try:
            self._wanted = state_for(
                plan, kind, None if line is None else LineLimits(line, control, lowest, police or {})
            )
        except OfframpError as error:
            raise OfframpError(f"{self.name}: {error}") from None

    def rendered(self) -> str:
        """A batch for tc, and what the host's sockets need."""
        return "\n".join([*self.commands(), *settings(self._plan)])

    def commands(self) -> list[str]:
        """Shell commands that do the same to an interface that has its default discipline."""
        return [f"tc {line}" for line in self._wanted.commands(self._interface)]

    def deployed(self) -> dict[str, Any]:
        """Our discipline, if it is there."""
        state = self.state()
        return {} if state is None else {**_facts(state)}

    def differences(self) -> list[Difference]:
        """Discipline, rate, and queue of each DSCP."""
        state = self.state()
        planned, present = _facts(self._wanted), {} if state is None else _facts(state)
        names = [*planned, *(name for name in present if name not in planned)]
        return [Difference(n, planned.get(n), present.get(n)) for n in names if planned.get(n) != present.get(n)]

    def apply(self, *, replace: bool = False) -> bool:
        """Run a batch of tc and read it back; on failure the interface gets its previous state back."""
        before = self.state()
        differences = self.differences()
        if not differences:
            return False
        if before is not None and not replace:
            raise in_use(self.name, [d for d in differences if d.found is not None] or differences)
        if before is not None and not before.whole:
            raise OfframpError(f"{self.name}: has been changed since, and could not be put back; undo it first")
        try:
            self._set(self._wanted, had=before is not None)
            require_equal(self)
        except BaseException as error:
            self.restore(before, error)
            raise
        return True

    def undo(self) -> bool:
        """The kernel's default discipline."""
        if self.state() is None:
            return False
        self._batch([f"qdisc del dev {self._interface} root"])
        return True

    def state(self) -> TcState | None:
        """Our discipline; None: the kernel's default one is there."""
        qdiscs = self._show("qdisc")
        kind, handle = root_of(qdiscs)
        if handle == "0:":
            return None
        if handle != HANDLE:
            raise OfframpError(
                f"{self.name}: has a queueing discipline of its own, {kind} {handle}; expected the default one "
                f"(tc qdisc del dev {self._interface} root)"
            )
        return state_from(qdiscs, self._show("class"), self._show("filter", "parent", HANDLE))

    def restore(self, before: TcState | None, cause: BaseException) -> None:
        """Restore the state that the interface had ``before``; ``cause`` is the failure that led to it.

        Raises:
            OfframpError: that failed too.
        """
        try:
            there = root_of(self._show("qdisc"))[1] == HANDLE
            if before is not None:
                self._set(before, had=there)
            elif there:
                self._batch([f"qdisc del dev {self._interface} root"])
        except OfframpError as error:
            raise not_restored(cause, error) from cause

    def _set(self, state: TcState, *, had: bool) -> None:
        remove = [f"qdisc del dev {self._interface} root"] if had else []
        self._batch(remove + state.commands(self._interface))

    def _show(self, what: str, *more: str) -> str:
        try:
            return self._tc.show(what, "show", "dev", self._interface, *more)
        except OfframpError as error:
            raise OfframpError(f"{self.name}: {error}") from None

    def _batch(self, lines: list[str]) -> None:
        try:
            self._tc.batch(lines)
        except OfframpError as error:
            raise OfframpError(f"{self.name}: {error}") from None


def _facts(state: TcState) -> dict[str, str]:
    """The state in words, which is compared with that of the plan."""
    facts = {"discipline": f"{state.kind} with {state.queues} strict classes"}
    if state.rate_bps is not None:
        facts["rate"] = f"{state.rate_bps} bit/s"
        facts["rate of the lowest queue"] = f"{state.lowest_bps} bit/s"
    for queue, bps in sorted(state.most_bps.items()):
        facts[f"most of queue {queue}"] = f"{bps} bit/s"
    facts["other DSCPs"], facts["ARP"] = f"queue {state.other}", f"queue {state.urgent}"
    for (protocol, dscp), queue in sorted(state.dscps.items()):
        facts[f"DSCP {dscp} ({protocol})"] = f"queue {queue}"
    return facts
