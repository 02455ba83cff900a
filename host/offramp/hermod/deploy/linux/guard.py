# SPDX-License-Identifier: Apache-2.0
"""A guard of DSCPs at an interface of a host, by cgroup: packets of other processes with a job's DSCP are re-marked."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offramp.hermod.deploy.linux import bpf
from offramp.hermod.deploy.linux.guard_program import COUNT, GUARDED, guard_program
from offramp.hermod.deploy.target import Difference, in_use, require_equal
from offramp.hermod.dscp import CODES
from offramp.hermod.queues import QueuePlan
from offramp_base import arguments
from offramp_base.errors import OfframpError, not_restored


@dataclass(frozen=True)
class Permits:
    """The DSCPs that each cgroup may use; bit n of a mask is DSCP n.

    Attributes:
        guarded: those that not everybody may use.
        by_cgroup: those that a cgroup and its children may, by its id.
    """

    guarded: int
    by_cgroup: Mapping[int, int] = field(default_factory=dict)

    def facts(self) -> dict[str, str]:
        """The permits in words, which are compared with those of the plan."""
        facts = {"guarded DSCPs": _named(self.guarded)}
        return facts | {f"cgroup {number}": f"DSCPs {_named(mask)}" for number, mask in sorted(self.by_cgroup.items())}


def cgroup_id(path: Path) -> int:
    """The number by which the kernel knows a cgroup.

    Raises:
        OfframpError: no cgroup of version 2.
    """
    if not (path / "cgroup.controllers").is_file():
        raise OfframpError(f"cgroup {path}: expected a folder of cgroup v2, such as /sys/fs/cgroup/job")
    return path.stat().st_ino


class GuardTarget:
    """A guard at the egress of an interface.

    Args:
        interface: its name.
        plan: the plan whose DSCPs are guarded.
        cgroups: the job's cgroups; none for undoing and reading back.

    Raises:
        OfframpError: no such interface or cgroup.
    """

    def __init__(self, interface: str, plan: QueuePlan, cgroups: list[Path]) -> None:
        self.name = f"guard of interface {interface}"
        try:
            self._index = socket.if_nametoindex(arguments.interface(interface))
        except (OSError, ValueError):
            raise OfframpError(f"{self.name}: no such interface") from None
        mask = sum(1 << dscp for dscp in plan.queues if dscp)
        self._wanted = Permits(mask, {cgroup_id(path): mask for path in cgroups}) if cgroups else None
        self._paths = cgroups

    def commands(self) -> list[str]:
        """Nothing that a shell could do: comments."""
        return [] if self._wanted is None else [f"# {self.name}: {line}" for line in self._lines()]

    def rendered(self) -> str:
        """The guard in words."""
        return "\n".join(self.commands())

    def _lines(self) -> list[str]:
        assert self._wanted is not None
        paths = ", ".join(map(str, self._paths))
        return [
            f"a BPF program re-marks DSCPs {_named(self._wanted.guarded)} as 0 unless the socket is of cgroup {paths}"
        ]

    def deployed(self) -> dict[str, Any]:
        """The deployed permits, and the number of packets re-marked; empty without a guard."""
        state = self.state()
        return {} if state is None else {**state.facts(), "packets re-marked": str(self.remarked())}

    def differences(self) -> list[Difference]:
        """DSCPs, and cgroup by cgroup."""
        state = self.state()
        planned, present = ({} if each is None else each.facts() for each in (self._wanted, state))
        names = [*planned, *(name for name in present if name not in planned)]
        return [
            Difference(f"guard: {name}", planned.get(name), present.get(name))
            for name in names
            if planned.get(name) != present.get(name)
        ]

    def apply(self, *, replace: bool = False) -> bool:
        """A new program in place of the old one, at once; read back."""
        before, differences = self.state(), self.differences()
        if not differences:
            return False
        if before is not None and not replace:
            raise in_use(self.name, differences)
        self._set(self._wanted)
        try:
            require_equal(self)
        except BaseException as error:
            self.restore(before, error)
            raise
        return True

    def undo(self) -> bool:
        """Remove the guard; whether there was one."""
        there = self.state() is not None
        self._set(None)
        return there

    def state(self) -> Permits | None:
        """The permits of the guard; None: there is no guard."""
        words = self._words()
        if words is None:
            return None
        return Permits(words.pop(GUARDED, 0), {key: mask for key, mask in words.items() if key != COUNT})

    def remarked(self) -> int:
        """Packets that have been re-marked."""
        return (self._words() or {}).get(COUNT, 0)

    def restore(self, before: Permits | None, cause: BaseException) -> None:
        """Restore the permits that the interface had ``before``; ``cause`` is the failure that led to it.

        Raises:
            OfframpError: that failed too.
        """
        try:
            self._set(before)
        except OfframpError as error:
            raise not_restored(cause, error) from cause

    def _words(self) -> dict[int, int] | None:
        program = self._named(bpf.attached, self._index)
        if program is None:
            return None
        with bpf.opened(program):
            words = bpf.words_of(program)
            with bpf.opened(words.descriptor):
                return words.items()

    def _set(self, permits: Permits | None) -> None:
        old = self._named(bpf.attached, self._index)
        try:
            if permits is not None:
                self._named(self._load, permits, old)
            elif old is not None:
                self._named(bpf.detach, self._index, old)
        finally:
            if old is not None:
                os.close(old)

    def _load(self, permits: Permits, old: int | None) -> None:
        words = bpf.WordMap.new(len(permits.by_cgroup) + 2)
        with bpf.opened(words.descriptor):
            for key, mask in {COUNT: 0, GUARDED: permits.guarded, **permits.by_cgroup}.items():
                words.put(key, mask)
            program = bpf.load(guard_program(words.descriptor))
            with bpf.opened(program):
                bpf.attach(self._index, program, old)

    def _named(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except OfframpError as error:
            raise OfframpError(f"{self.name}: {error}") from None


def _named(mask: int) -> str:
    return ", ".join(str(dscp) for dscp in range(CODES) if mask >> dscp & 1) or "none"
