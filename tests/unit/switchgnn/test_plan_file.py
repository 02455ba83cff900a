# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp.switchgnn.plan import make_plan
from offramp.switchgnn.plan_file import load_plan, save_plan
from offramp_base.errors import OfframpError

FIELDS = ("vertices", "owner", "indptr", "neighbours", "order", "need", "level", "block_id")


@pytest.fixture
def plan():
    """Two triangles of workers 0, 1, 2 joined by an edge: blocks {0,1,2}, {3,4,5} and {2,3}."""
    u, v = np.array([[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5], [2, 3]]).T
    indptr, indices = symmetric_csr(6, u, v)
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), [0, 1, 2, 0, 1, 2])
    return make_plan(boundary, 2, 3 * 2 * 128, first_block_id=5)


def test_save_and_load(plan, tmp_path):
    save_plan(plan, tmp_path / "p.npz")
    again = load_plan(tmp_path / "p.npz")
    assert [len(block.vertices) for block in again.blocks] == [3, 3, 2]
    for name in ("workers", "chunks", "aggregators", "R", "B", "C", "first_block_id", "uploads", "passes", "levels"):
        assert getattr(again, name) == getattr(plan, name), name
    for a, b in zip(plan.blocks, again.blocks, strict=True):
        for name in FIELDS:
            assert np.array_equal(getattr(a, name), getattr(b, name)), name
            assert np.asarray(getattr(a, name)).dtype == np.asarray(getattr(b, name)).dtype, name
    save_plan(again, tmp_path / "q.npz")
    assert (tmp_path / "p.npz").read_bytes() == (tmp_path / "q.npz").read_bytes()


def test_a_plan_without_blocks(tmp_path):
    nothing = Boundary(SimpleNamespace(indptr=np.array([0, 0]), indices=np.zeros(0, int)), [0])
    save_plan(make_plan(nothing, 1, 1024), tmp_path / "p.npz")
    assert load_plan(tmp_path / "p.npz").blocks == []


def at(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("order", None, "order: missing"),
        ("workers", lambda _: np.int64(0), "workers: expected 1 to 2147483648, got 0"),
        ("workers", lambda _: np.int64(2), "owner: expected workers from 0 to 1"),
        ("workers", lambda _: np.array([3]), "workers: expected 0 dimensions of kind i/u, got 1 of int64"),
        ("chunks", lambda _: np.int64(256), "chunks: expected 1 to 255, got 256"),
        ("aggregators", lambda _: np.int64(5), "sizes: expected blocks of 2 to 2 vertices, as 5 aggregators hold"),
        ("first_block_id", lambda _: np.int64(65534), "first_block_id: expected 0 to 65533, got 65534"),
        ("level", lambda a: a[:-1], "level: expected 3 entries of at least 0, one per block"),
        ("sizes", lambda a: at(a, 0, 2), "vertices: expected 7 entries, the sum of sizes, got 8"),
        ("order", lambda a: a[:-1], "order: expected 8 entries, the sum of sizes, got 7"),
        ("order", lambda a: at(a, 0, a[1]), "order: expected a permutation of the 3 ranks of block 5"),
        ("vertices", lambda a: at(a, 0, -1), "vertices: expected ids from 0 to 2**32 - 2"),
        ("vertices", lambda a: at(a, 0, a[1]), "vertices: expected ascending ids of block 5"),
        ("need", lambda a: at(a, 0, 0), "need: expected 1 to 32767 contributions"),
        ("need", lambda a: at(a, 0, 3), "neighbours: expected 15 entries, the sum of need"),
        ("neighbours", lambda a: at(a, 0, 3), "neighbours: expected ranks from 0 to 2 of block 5"),
        (
            "neighbours",
            lambda a: at(a, 0, a[1]),
            "neighbours: expected ascending rows with both directions of every edge of block 5",
        ),
        ("owner", lambda a: at(a, 0, a[1]), "neighbours: expected edges between different owners only of block 5"),
        ("B", lambda _: np.int64(5), "B: expected 6, as the blocks hold, got 5"),
        ("C", lambda _: np.int64(8), "C: expected 7, as the blocks hold, got 8"),
        ("R", lambda _: np.int64(5), "R: expected 6 to 14, got 5"),
        ("owner", lambda a: at(a, -1, 1), "owner: expected the same owner of a vertex in every block"),
        ("vertices", lambda a: at(a, [3, 4, 5], a[:3]), "neighbours: expected every cut edge in one block only"),
    ],
)
def test_golden_errors(plan, tmp_path, field, change, message):
    path = tmp_path / "p.npz"
    save_plan(plan, path)
    with np.load(path) as archive:
        fields = dict(archive)
    fields[field] = change(fields[field]) if change else None
    np.savez(path, **{name: array for name, array in fields.items() if array is not None})
    with pytest.raises(OfframpError) as error:
        load_plan(path)
    assert str(error.value) == f"{path}: {message}"


def test_unreadable_and_unwritable_files(plan, tmp_path):
    with pytest.raises(OfframpError, match=r"gone\.npz: no such file"):
        load_plan(tmp_path / "gone.npz")
    (tmp_path / "text.npz").write_text("plan")
    with pytest.raises(OfframpError, match=r"text\.npz: expected a NumPy \.npz file"):
        load_plan(tmp_path / "text.npz")
    with pytest.raises(OfframpError, match="cannot be written: No such file or directory"):
        save_plan(plan, tmp_path / "gone" / "p.npz")
