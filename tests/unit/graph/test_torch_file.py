# SPDX-License-Identifier: Apache-2.0
"""Files of ``torch.save``: nothing in them is executed, and what others have declared safe stays as it was.

Blind spot: faults of PyTorch's own safe mode.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import serialization

from offramp.graph.torch_file import load_torch_file
from offramp_base.errors import OfframpError


class Code:
    """The call that a hostile pickle makes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.fixture
def declared() -> Iterator[list[Any]]:
    """Somebody has declared classes safe, the one that safe mode cannot fill among them."""
    before = serialization.get_safe_globals()
    serialization.add_safe_globals([Fraction, defaultdict])
    yield serialization.get_safe_globals()
    serialization.clear_safe_globals()
    serialization.add_safe_globals(before)


def test_nothing_in_a_file_is_executed(tmp_path: Path, declared: list[Any]) -> None:
    torch.save(Code(tmp_path / "ran"), tmp_path / "x.pt")
    with pytest.raises(OfframpError, match=r"x\.pt: expected a tensor: "):
        load_torch_file(tmp_path / "x.pt", "a tensor")
    assert not (tmp_path / "ran").exists()
    assert set(serialization.get_safe_globals()) == set(declared)


def test_a_dictionary_with_defaults_is_an_ordinary_one(
    tmp_path: Path, declared: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save(defaultdict(None, {"a": torch.ones(2)}), tmp_path / "x.pt")
    load, meanwhile = torch.load, []

    def noted(*arguments: Any, **options: Any) -> Any:
        meanwhile.extend(serialization.get_safe_globals())
        return load(*arguments, **options)

    monkeypatch.setattr(torch, "load", noted)
    held = load_torch_file(tmp_path / "x.pt", "features")
    assert Fraction in meanwhile
    assert defaultdict not in meanwhile  # of two entries for one name, the last in a set's order would count
    assert not isinstance(held, defaultdict)
    assert held["a"].tolist() == [1.0, 1.0]
    assert set(serialization.get_safe_globals()) == set(declared)


def test_classes_are_safe_for_one_call(tmp_path: Path) -> None:
    torch.save(Fraction(1, 3), tmp_path / "x.pt")
    before = set(serialization.get_safe_globals())
    assert load_torch_file(tmp_path / "x.pt", "a number", [Fraction]) == Fraction(1, 3)
    assert set(serialization.get_safe_globals()) == before
    with pytest.raises(OfframpError, match="expected a number"):
        load_torch_file(tmp_path / "x.pt", "a number")
