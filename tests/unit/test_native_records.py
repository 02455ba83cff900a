# SPDX-License-Identifier: Apache-2.0
"""Records of compiled Python: the same words under the same names in machine code and in NumPy."""

from __future__ import annotations

import ctypes
from typing import Annotated

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_digest import compare
from offramp_base.native.arrays import RecordArrays
from offramp_base.native.library import compiled_all
from offramp_base.native.llvm import AliasTags, ll
from offramp_base.native.lowering import RuntimeLibrary
from offramp_base.native.records import At, Record, Within, offset
from offramp_base.native.subset import Doubles, Ints, Words, native


class Pair(Record):
    """Two numbers."""

    left: int
    right: float


class Base(Record):
    """The words with which every state begins."""

    total: int


class State(Base):
    """A field of every kind."""

    pairs: At[Pair]
    ints: Ints
    levels: Annotated[Doubles, 2]
    inner: Pair
    near: Within[Pair]
    numbers: Within[Words]
    best: At[Pair]


@native
def add(state: Base, number: int) -> int:
    """Takes the base alone."""
    state.total += number
    return state.total


@native
def work(state: State, count: int) -> int:
    """Uses every kind of field."""
    for i in range(count):
        add(state, state.pairs[i].left * state.ints[i])
        state.levels[i & 1] = state.levels[i & 1] + state.pairs[i].right
        state.near[i].left = i + 10
        state.numbers[i] = -i
    state.inner.left = offset(State.inner.right) * 100 + Pair.WORDS
    state.inner.right = 0.5
    state.best = state.pairs + (count - 1)
    state.best.right = 2.25
    return state.best.left


@native
def wrong_kind(state: State) -> int:
    """An address is not a number."""
    state.total = state.pairs
    return 0


@native
def wrong_field(state: Base) -> int:
    """The base has no such field."""
    return state.best.left


def test_layout_is_words_one_behind_the_other() -> None:
    assert [int(State.total), offset(State.pairs), offset(State.ints), offset(State.levels)] == [0, 1, 2, 3]
    assert [offset(State.inner), int(State.inner.right), offset(State.near)] == [5, 6, 7]
    assert (Pair.WORDS, Base.WORDS, State.WORDS) == (2, 1, 10)
    with pytest.raises(AttributeError):
        _ = State.inner.middle


def test_machine_code_and_python_see_the_same_fields() -> None:
    count = 3
    memory = RecordArrays(State)
    pairs = memory.give(State.pairs, np.zeros((count, Pair.WORDS), np.int64))
    pairs[:, Pair.left] = [5, 6, 7]
    pairs[:, Pair.right] = np.array([1.5, 2.0, 4.0]).view(np.int64)
    memory.give(State.ints, np.array([1, -1, 2], np.int32))
    whole = np.zeros(State.WORDS + count * Pair.WORDS + count, np.int64)
    whole[: State.WORDS] = memory.fields.words
    whole[offset(State.near)], whole[offset(State.numbers)] = State.WORDS, State.WORDS + count * Pair.WORDS
    state = State(whole)
    state.total = 100
    assert compiled_all((work,))["work"](whole.ctypes.data, count) == 7
    assert state.total == 100 + 5 - 6 + 14
    assert (state.inner.left, state.inner.right) == (602, 0.5)
    assert whole[offset(State.levels) :][:2].view(np.float64).tolist() == [5.5, 2.0]
    assert whole[State.WORDS :].tolist() == [10, 0, 11, 0, 12, 0, 0, -1, -2]
    assert Pair(pairs[2]).right == 2.25
    assert memory[State.pairs] is pairs
    assert whole[offset(State.best)] == pairs[2:].ctypes.data


@native
def last(state: State, index: int) -> int:
    """Words within the record, and its end."""
    return state.near[index].left + state.numbers[index]


def test_a_moved_record_keeps_what_is_within() -> None:
    whole = np.zeros(State.WORDS + 2 * Pair.WORDS + 2, np.int64)
    whole[offset(State.near)], whole[offset(State.numbers)] = State.WORDS, State.WORDS + 2 * Pair.WORDS
    whole[State.WORDS + Pair.WORDS], whole[-1] = 40, 2
    moved = np.concatenate([np.zeros(3, np.int64), whole])[3:]
    whole[State.WORDS :] = 0
    assert compiled_all((last,))["last"](moved.ctypes.data, 1) == 42


@pytest.mark.parametrize("function", [wrong_kind, wrong_field])
def test_what_does_not_fit_is_refused_when_it_is_compiled(function: ctypes._FuncPointer) -> None:
    module = ll.Module("test")
    with pytest.raises(AssertionError, match=r"state\.(total is int|best: Base has no field)"):
        RuntimeLibrary(module, AliasTags(module)).function(function)


def test_digests_name_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    old = {name: {"ir": "1", "code": "1"} for name in ("same", "renamed", "changed", "gone")}
    new = {"same": old["same"], "renamed": {"ir": "2", "code": "1"}, "changed": {"ir": "2", "code": "2"}}
    assert compare(old, new) == 1
    assert capsys.readouterr().out.splitlines() == [
        "gone: gone",
        "machine code differs: changed",
        "3 compared: machine code of 1 differs, assembly before optimisation of 2",
    ]
    assert compare(old, old) == 0
