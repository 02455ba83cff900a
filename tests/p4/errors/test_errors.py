"""Golden error messages: each program here is wrong in one way, and beside it stands what a user reads.

Blind spot: these are our own words; that p4c refuses the same programs is checked outside the repository.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import offramp_p4
from offramp_p4.frontend import load
from offramp_p4.source import P4Error

pytestmark = pytest.mark.p4
HERE = Path(__file__).parent
INCLUDE = Path(offramp_p4.__file__).parent / "include"
PROGRAMS = sorted(HERE.glob("*/*.p4"))


@pytest.mark.parametrize("program", PROGRAMS, ids=[f"{p.parent.name}/{p.stem}" for p in PROGRAMS])
def test_message(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    with pytest.raises(P4Error) as caught:
        load(program.relative_to(HERE))
    assert str(caught.value).replace(str(INCLUDE), "include") + "\n" == program.with_suffix(".txt").read_text()


def test_every_message_has_its_program() -> None:
    assert sorted(p.with_suffix(".p4") for p in HERE.glob("*/*.txt")) == PROGRAMS
