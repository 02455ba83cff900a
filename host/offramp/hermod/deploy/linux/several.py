# SPDX-License-Identifier: Apache-2.0
"""A plan on several interfaces of a host: on all of them, or on none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from offramp.hermod.deploy.target import DeployTarget, Difference


class HostTarget(DeployTarget, Protocol):
    """Something of an interface that can be put back."""

    def commands(self) -> list[str]:
        """Shell commands with the same effect, as far as there are any."""

    def state(self) -> Any:
        """The present state; None: nothing of Hermod is deployed."""

    def restore(self, before: Any, cause: BaseException) -> None:
        """Make ``before`` hold again, because of ``cause``."""


class LinuxTargets:
    """Interfaces, each with its queues, and with a guard where there is one."""

    def __init__(self, targets: Sequence[HostTarget]) -> None:
        self._targets = targets
        self.name = ", ".join(target.name for target in targets)

    def rendered(self) -> str:
        """The commands for each, and once what the host's sockets need."""
        *others, last = self._targets
        return "\n".join([*(line for target in others for line in target.commands()), last.rendered()])

    def deployed(self) -> dict[str, Any]:
        """Everything that is deployed, interface after interface."""
        return {f"{t.name}: {what}": value for t in self._targets for what, value in t.deployed().items()}

    def differences(self) -> list[Difference]:
        """Differences from the plan, interface after interface."""
        return [replace(d, what=f"{t.name}: {d.what}") for t in self._targets for d in t.differences()]

    def apply(self, *, replace: bool = False) -> bool:
        """Apply the plan to one interface after the other; if one fails, the earlier ones get back their state."""
        before = [target.state() for target in self._targets]
        changed = []
        try:
            for target, state in zip(self._targets, before, strict=True):
                if target.apply(replace=replace):
                    changed.append((target, state))
        except BaseException as error:
            for target, state in changed:
                target.restore(state, error)
            raise
        return bool(changed)

    def undo(self) -> bool:
        """Remove the plan from all interfaces; whether there was anything to remove."""
        removed = [target.undo() for target in self._targets]
        return any(removed)
