# SPDX-License-Identifier: Apache-2.0
"""Steps that are applied together or not at all, undone in reverse."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from offramp_base.errors import OfframpError


class TransactionStep(Protocol):
    """One thing that is put somewhere; :meth:`apply` leaves nothing behind if it raises."""

    @property
    def name(self) -> str:
        """The step's action and place, for people: ``program of leaf1``."""

    def apply(self) -> None:
        """Apply the step."""

    def undo(self) -> None:
        """Take it away again."""

    def holds(self) -> str:
        """The reason that what was applied is no longer there; else empty."""


class Transaction:
    """A context manager that undoes, in reverse, what was applied in it, however it ends.

    Args:
        note: told ``apply``, ``applied``, ``undo`` or ``undone`` and the name of a step; what it raises fails the step.
        signalled: called first where a signal ends the context: there may be no time to undo everything.

    Raises:
        OfframpError: at the end, steps that could not be undone; the others were.
    """

    def __init__(
        self, note: Callable[[str, str], None] | None = None, signalled: Callable[[], None] | None = None
    ) -> None:
        self._on_step, self._signalled, self._done = note, signalled, list[TransactionStep]()

    def __enter__(self) -> Self:
        return self

    def apply(self, step: TransactionStep) -> None:
        """Apply a step; if that fails the context should end."""
        self._note("apply", step.name)
        step.apply()
        self._done.append(step)
        self._note("applied", step.name)

    def _note(self, what: str, name: str) -> None:
        if self._on_step is not None:
            self._on_step(what, name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._signalled is not None and kind is not None and not issubclass(kind, Exception | GeneratorExit):
            self._signalled()
        faults: list[str] = []
        while self._done:
            step = self._done.pop()
            try:
                self._note("undo", step.name)
                step.undo()
                self._note("undone", step.name)
            except Exception as fault:  # whatever it is, the others must be undone
                faults.append(f"{step.name}: {fault}")
        if faults:
            failure = f"not undone: {'; '.join(faults)}"
            raise OfframpError(f"{error}; {failure}" if error is not None and str(error) else failure)
