# SPDX-License-Identifier: Apache-2.0
"""The common interface of all machines on which a plan is deployed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as planned; None: not there."""

    what: str
    planned: str | None
    found: str | None

    def __str__(self) -> str:
        if self.found is None:
            return f"{self.what}: missing, planned {self.planned}"
        if self.planned is None:
            return f"{self.what}: {self.found}, not planned"
        return f"{self.what}: {self.found}, planned {self.planned}"


class DeployTarget(Protocol):
    """One machine, or one interface, that can hold a plan. All methods raise :class:`OfframpError` in one line."""

    @property
    def name(self) -> str:
        """The target's name in messages."""

    def rendered(self) -> str:
        """The configuration that :meth:`apply` would write, in the target's own language."""

    def deployed(self) -> dict[str, Any]:
        """The present configuration, for people and programs; empty where nothing of Hermod is deployed."""

    def differences(self) -> list[Difference]:
        """Differences between the present state and the plan."""

    def apply(self, *, replace: bool = False) -> bool:
        """Make the plan hold, or leave everything as it was; whether something was changed.

        Args:
            replace: whether another plan that is deployed there makes room.
        """

    def undo(self) -> bool:
        """Remove the deployed plan, whichever it is; returns whether there was one."""


def require_equal(target: DeployTarget) -> None:
    """Raise if the state that was just written does not read back as it was written."""
    if differences := target.differences():
        in_all = f"{differences[0]} ({len(differences)} in all)"
        raise OfframpError(f"{target.name}: does not hold what was written: {in_all}")


def in_use(name: str, differences: list[Difference]) -> OfframpError:
    """The error where something else is deployed already."""
    more = f" and {len(differences) - 1} more" if len(differences) > 1 else ""
    return OfframpError(f"{name}: in use otherwise: {differences[0]}{more}; undo it first, or replace it")
