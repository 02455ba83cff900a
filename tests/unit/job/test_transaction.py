# SPDX-License-Identifier: Apache-2.0
"""Steps applied together or not at all: what is noted, undone and said, for every way in which a transaction ends."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field

import pytest

from offramp.job.transaction import Transaction
from offramp_base.errors import OfframpError


@dataclass
class Step:
    name: str
    broken: bool = False
    done: list[str] = field(default_factory=list)

    def apply(self) -> None:
        self.done.append("apply")

    def undo(self) -> None:
        if self.broken:
            raise ValueError(f"{self.name} is stuck")
        self.done.append("undo")

    def holds(self) -> str:
        return ""


def ended(transaction: Transaction, error: BaseException | None, *steps: Step) -> None:
    """Apply steps, then fail if there is an error."""
    with transaction:
        for step in steps:
            transaction.apply(step)
        if error is not None:
            raise error


def test_all_is_undone_in_reverse_and_noted() -> None:
    notes: list[tuple[str, str]] = []
    one, two = Step("one"), Step("two")
    with Transaction(lambda what, name: notes.append((what, name))) as transaction:
        transaction.apply(one)
        transaction.apply(two)
    begun = [(what, name) for name in ("one", "two") for what in ("apply", "applied")]
    assert notes == begun + [(what, name) for name in ("two", "one") for what in ("undo", "undone")]
    assert one.done == two.done == ["apply", "undo"]


def test_without_notes() -> None:
    one = Step("one")
    with Transaction() as transaction:
        transaction.apply(one)
    assert one.done == ["apply", "undo"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (None, "not undone: two: two is stuck"),
        (RuntimeError("rank 3 died"), "rank 3 died; not undone: two: two is stuck"),
        (RuntimeError(), "not undone: two: two is stuck"),
    ],
)
def test_what_cannot_be_undone_is_named_behind_the_cause_and_the_rest_is_undone(error, text: str) -> None:
    one = Step("one")
    with pytest.raises(OfframpError) as caught:
        ended(Transaction(), error, one, Step("two", broken=True))
    assert str(caught.value) == text
    assert one.done == ["apply", "undo"]


@pytest.mark.parametrize(
    ("error", "tellings"),
    [(None, 0), (RuntimeError("an error"), 0), (GeneratorExit(), 0), (KeyboardInterrupt(), 1), (SystemExit(3), 1)],
)
def test_a_signal_is_told_before_anything_is_undone(error: BaseException | None, tellings: int) -> None:
    one, seen = Step("one"), list[list[str]]()
    transaction = Transaction(signalled=lambda: seen.append([*one.done]))
    with nullcontext() if error is None else pytest.raises(type(error)):
        ended(transaction, error, one)
    assert seen == [["apply"]] * tellings
    assert one.done == ["apply", "undo"]
