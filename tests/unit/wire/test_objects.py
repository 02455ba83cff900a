# SPDX-License-Identifier: Apache-2.0
"""Object messages: what goes in comes out, and nothing else is ever made from bytes.

Oracle: equality with the object that was packed. Blind spot: indices inside arrays are the receiver's to check.
"""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from offramp_base.errors import OfframpError
from offramp_base.wire import objects
from offramp_base.wire.objects import pack, sendable, unpack


@sendable
class Point(NamedTuple):
    x: int
    y: float


@sendable
@dataclass(frozen=True)
class Record:
    name: str
    points: list[Point]
    rows: npt.NDArray[np.int64]
    features: npt.NDArray[np.float32] | sp.csr_matrix
    near: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None
    layers: range
    sizes: tuple[int, ...]
    by_width: dict[int, Point]
    facts: Mapping[str, Any]
    flag: bool = False
    inner: Record | None = None


def same(a: Any, b: Any) -> bool:
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.flags.f_contiguous == b.flags.f_contiguous and np.array_equal(a, b)
    if sp.issparse(a):
        return a.dtype == b.dtype and a.shape == b.shape and (a != b).nnz == 0 and a.nnz == b.nnz
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and (a == b or (a != a and b != b))


def record(rng: np.random.Generator, *, deep: bool = True) -> Record:
    n = int(rng.integers(0, 9))
    dense = np.asfortranarray(rng.random((n, 3), np.float32)) if n % 2 else rng.random((n, 3), np.float32)
    sparse = sp.random(n, 5, 0.4, "csr", np.float32, random_state=n)
    pair = (rng.integers(0, 9, n), rng.integers(0, 9, n))
    return Record(
        name="Grüße"[: n + 1],
        points=[Point(int(x), float(x) / 7) for x in rng.integers(-(1 << 62), 1 << 62, n)],
        rows=rng.integers(0, 1 << 40, n),
        features=dense if rng.random() < 0.5 else sparse,
        near=pair if n % 3 else None,
        layers=range(n, 2 * n + 1, 3),
        sizes=tuple(range(n)),
        by_width={k: Point(k, float("inf")) for k in range(n)},
        facts={"loss": float("nan"), "deep": [{"x": None}], "n": n},
        flag=bool(n & 1),
        inner=record(rng, deep=False) if deep else None,
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_goes_in_comes_out(seed: int) -> None:
    sent = record(np.random.default_rng(seed))
    assert same(unpack(pack(sent, Record), Record, "rank 1"), sent)


def test_an_array_that_is_met_twice_travels_once() -> None:
    rows = np.arange(1 << 16)
    packed = pack([(rows, rows)] * 10, list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]])
    assert len(packed) < 2 * rows.nbytes
    came = unpack(packed, list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]], "rank 1")
    assert came[0][0] is came[9][1]


class Trap:
    """The call that a pickle would make."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def __reduce__(self) -> Any:
        return (Path.touch, (self.flag,))


def test_a_pickle_is_refused_in_one_line_and_not_run(tmp_path: Path) -> None:
    flag = tmp_path / "run"
    raw = pickle.dumps(Trap(flag))
    for hostile in (raw, objects._HEADER.pack(b"OFob", 1, len(raw), 0) + raw.ljust(-(-len(raw) // 8) * 8, b"\0")):
        with pytest.raises(OfframpError, match=r"^rank 1 sent no message of Record: [^\n]*$"):
            unpack(bytearray(hostile), Record, "rank 1")
    assert not flag.exists()


def message(value: Any, table: Any = (), raw: bytes = b"", kind: str = "Record") -> bytearray:
    text = json.dumps([kind, value, table]).encode()
    return bytearray(objects._HEADER.pack(b"OFob", 1, len(text), len(raw)) + text.ljust(-(-len(text) // 8) * 8) + raw)


ARRAY = npt.NDArray[np.int64]
NAME = str(ARRAY)


@pytest.mark.parametrize(
    ("raw", "kind", "line"),
    [
        (b"", Record, "0 bytes"),
        (bytes(24), Record, "it begins otherwise"),
        (objects._HEADER.pack(b"OFob", 2, 0, 0), Record, "version 2, expected 1"),
        (objects._HEADER.pack(b"OFob", 1, 1 << 60, 1 << 60), Record, "24 bytes, its header says"),
        (message([], kind="int"), Record, "it is one of 'int'"),
        (message({"name": 1}), Record, "not the fields of Record"),
        (message(True, kind="int"), int, "True, expected int"),
        (message(1 << 64, kind="int"), int, "expected int"),
        (message("\ud800", kind="str"), str, "expected str"),
        (message(0, [["<i8", [2], "C"]], bytes(8), NAME), ARRAY, "an array of 16 bytes in 8"),
        (message(0, [["<i8", [1 << 62, 1 << 62], "C"]], b"", NAME), ARRAY, "an array of"),
        (message(0, [["<i8", [0, 1 << 62, 1 << 62], "C"]], b"", NAME), ARRAY, "an array of"),
        (message(0, [["<i8", [-1], "C"]], b"", NAME), ARRAY, "no such shape"),
        (message(0, [["|O", [1], "C"]], bytes(8), NAME), ARRAY, "no array"),
        (message(0, [["<f8", [1], "C"]], bytes(8), NAME), ARRAY, "float64, expected an array of int64"),
        (message(1, [["<i8", [1], "C"]], bytes(8), NAME), ARRAY, "no array 1"),
        (message(0, [["<i8", [1], "C"]], bytes(16), NAME), ARRAY, "arrays of 8 bytes in 16"),
        (message(0, [["|b1", [1], "C"]], b"\2" * 8, str(npt.NDArray[np.bool_])), npt.NDArray[np.bool_], "truth"),
        (message([0, 5, 0], kind="range"), range, "without steps"),
    ],
)
def test_other_bytes_are_refused_in_one_line(raw: bytes, kind: Any, line: str) -> None:
    with pytest.raises(OfframpError) as refusal:
        unpack(bytearray(raw), kind, "rank 1")
    assert str(refusal.value).startswith("rank 1 sent no message of ")
    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", [b"[" * 200_000, b'["Record",' + b"[" * 100_000, b"1" * 5000, b'"\xff"', b"{}"])
def test_a_tree_that_is_none_is_refused(text: bytes) -> None:
    raw = objects._HEADER.pack(b"OFob", 1, len(text), 0) + text.ljust(-(-len(text) // 8) * 8)
    with pytest.raises(OfframpError, match=r"^rank 1 sent no message of Record: [^\n]*$"):
        unpack(raw, Record, "rank 1")


def test_a_matrix_whose_entries_lie_outside_is_refused() -> None:
    kind = sp.csr_matrix
    good = pack(sp.csr_matrix(np.eye(4, dtype=np.float32)[[3, 0, 2, 1]]), kind)
    assert unpack(good, kind, "rank 1").nnz == 4
    indices = np.array((3, 0, 2, 1), np.int32).tobytes()
    assert good.count(indices) == 1
    for bad in ((3, 0, 2, 4), (3, 0, 2, -1)):
        raw = good.replace(indices, np.array(bad, np.int32).tobytes())
        with pytest.raises(OfframpError, match="no CSR matrix"):
            unpack(raw, kind, "rank 1")


def test_a_matrix_with_more_values_than_it_announces_is_refused() -> None:
    matrix = sp.csr_matrix(np.eye(4, dtype=np.float32))
    good = pack(matrix, sp.csr_matrix)
    ends = np.array((0, 1, 2, 3, 4), np.int32).tobytes()
    assert good.count(ends) == 1
    raw = good.replace(ends, np.array((0, 1, 2, 3, 3), np.int32).tobytes())
    with pytest.raises(OfframpError, match="no CSR matrix: 4 values, 4 columns, 3 announced"):
        unpack(raw, sp.csr_matrix, "rank 1")


def test_small_entries_do_not_take_many_times_their_bytes() -> None:
    with pytest.raises(OfframpError, match="too many entries"):
        unpack(message([[]] * (objects._MOST_CONTAINERS + 1)), Record, "rank 1")


def test_flipped_bytes_never_raise_anything_else() -> None:
    rng = random.Random(1)
    good = pack(record(np.random.default_rng(3)), Record)
    lines: set[int] = set()
    for _ in range(3000):
        raw = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        try:
            unpack(raw[: rng.choice((len(raw), rng.randrange(len(raw))))], Record, "rank 1")
        except OfframpError as refusal:
            lines.add(str(refusal).count("\n"))
    assert lines == {0}


def test_what_is_not_marked_does_not_travel() -> None:
    class Secret(NamedTuple):
        key: int

    with pytest.raises(OfframpError, match="Secret does not travel between ranks"):
        pack(Secret(1), Secret)
    with pytest.raises(OfframpError, match=r"^message of Record: Record.rows: float64, expected an array of int64$"):
        pack(Record("x", [], np.zeros(1), np.zeros((1, 1), np.float32), None, range(1), (), {}, {}), Record)  # type: ignore[arg-type]


@pytest.mark.full
def test_the_jobs_of_every_kind_of_training_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    from offramp.dgs.run import prepare
    from offramp.dgs.settings import DgsSettings
    from offramp.dgs.shard import Shard
    from offramp.graph.load import load
    from offramp.torchgt import run as torchgt
    from offramp.torchgt.settings import TorchGtSettings
    from offramp.torchgt.trainer import RankJob
    from offramp.train.job import WorkerJob
    from offramp.train.planned import plan_run
    from offramp.train.settings import TrainSettings
    from offramp.unitg.job import UnitgJob, plan
    from offramp.unitg.settings import UnitgSettings

    karate = load("karate")
    jobs: list[tuple[Any, Any]] = []
    for changes in (
        {"propagator": "local", "workers": 1},
        {"propagator": "p2p"},
        {"propagator": "p2p", "schedule": "g3", "codec": "q4"},
        {"propagator": "switch"},
        {"propagator": "switch", "scheme": "pairwise+hybrid"},
    ):
        settings = TrainSettings("karate", **{"workers": 2, **changes})
        planned = plan_run(karate, settings)
        jobs += [(job, WorkerJob) for job in planned.jobs(["unix:a", "unix:b"])]
    jobs += [(shard, Shard) for shard in prepare(karate, DgsSettings("karate", workers=2))]
    jobs += [(job, UnitgJob) for job in plan(karate, UnitgSettings("karate")).jobs]
    jobs += [(job, RankJob) for job in torchgt.prepare(TorchGtSettings("karate", clusters=2)).jobs]
    for job, kind in jobs:
        assert same(unpack(pack(job, kind), kind, "rank 0"), job)
