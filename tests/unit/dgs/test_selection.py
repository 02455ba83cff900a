# SPDX-License-Identifier: Apache-2.0
"""Pulls: feature selection at the owner, records, bytes (specification sections 7.2 and 11)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from offramp.dgs.records import SamplingRecord, decode
from offramp.dgs.selection import answer, select, spread
from offramp.dgs.wire import DGS, MASKS, NEIGHBOURS, PULL, ROWS, SAMPLE
from offramp_base.errors import OfframpError

X = np.random.default_rng(0).normal(size=(20, 11)).astype(np.float32)
VERTICES = np.arange(20) * 3


def pull(ids: list[int], version: int = 0) -> SamplingRecord:
    return SamplingRecord(PULL, 1, batch=4, version=version, ids=np.array(ids, np.int64))


@given(st.lists(st.integers(0, 19)), st.sets(st.integers(0, 10)))
def test_chosen_columns_of_chosen_rows(rows: list[int], columns: set[int]) -> None:
    """Order and repetitions stay; dense, sparse and machine code alike; columns that are not sent stay 0."""
    at, chosen = np.array(rows, np.int64), np.array(sorted(columns), np.int64)
    expected = X[at][:, chosen]
    for features in (X, sp.csr_matrix(X), np.asfortranarray(X)):
        assert np.array_equal(select(features, at, chosen), expected)
        assert np.array_equal(select(features, at, None), X[at])
    into = np.zeros((len(rows), 11), np.float32)
    spread(expected, into, np.arange(len(rows)), chosen)
    rest = np.setdiff1d(np.arange(11), chosen)
    assert np.array_equal(into[:, chosen], expected)
    assert not into[:, rest].any()


def test_a_pull_is_answered_by_the_version_that_is_known() -> None:
    columns = np.array([2, 5])
    reply = answer(pull([9, 3, 9], version=7), X, VERTICES, columns, 7, 0)
    assert reply.values is not None
    assert np.array_equal(reply.values, X[[3, 1, 3]][:, columns])


def test_a_version_that_is_not_known_gets_whole_rows() -> None:
    reply = answer(pull([9], version=8), X, VERTICES, np.array([2, 5]), 7, 0)
    assert reply.values is not None
    assert np.array_equal(reply.values, X[[3]])


def test_an_empty_pull_is_empty() -> None:
    reply = answer(pull([]), X, VERTICES, None, 0, 0)
    assert reply.values is not None
    assert reply.values.shape == (0, 11)


@pytest.mark.parametrize("stranger", [1, 60, 10**12])
def test_a_vertex_that_is_not_here_is_refused(stranger: int) -> None:
    with pytest.raises(OfframpError, match=f"^worker 0: vertex {stranger}, asked for by worker 1, is not here$"):
        answer(pull([3, stranger]), X, VERTICES, None, 0, 0)


def test_a_row_takes_its_id_and_its_columns() -> None:
    """``rows (4 k + 8)`` bytes beside two headers."""
    request = pull([0, 3, 6], version=1)
    reply = answer(request, X, VERTICES, np.array([1, 4, 6, 9]), 1, 0)
    assert len(request.encode()) + len(reply.encode()) == 3 * (4 * 4 + 8) + 2 * DGS.size


RECORDS = [
    SamplingRecord(SAMPLE, 2, 1, 9, ids=np.array([5, 7])),
    SamplingRecord(NEIGHBOURS, 0, 2, 9, ids=np.array([1, 2, 3]), counts=np.array([2, 0, 1])),
    pull([3], version=5),
    SamplingRecord(ROWS, 1, batch=4, version=2, values=X[:2, :3]),
    SamplingRecord(MASKS, 3, version=2, values=np.array([0.5], np.float32), columns=np.array([0, 9]), width=11),
]


def test_records_come_out_as_they_went_in() -> None:
    records = decode(b"".join(record.encode() for record in RECORDS))
    assert len(records) == len(RECORDS)
    for record, back in zip(RECORDS, records, strict=True):
        for field in vars(record):
            assert np.array_equal(getattr(record, field), getattr(back, field)), field


def test_golden_bytes() -> None:
    """Headers are big-endian, what follows little-endian."""
    assert RECORDS[0].encode().hex() == (
        "44475331010100020000000900000000000000020000000000000000"
        "05000000000000000700000000000000"
    )  # fmt: skip
    assert RECORDS[4].encode()[DGS.size :].hex() == "80400000003f"


def test_damaged_messages_are_refused() -> None:
    whole = RECORDS[1].encode()
    for cut in range(1, len(whole)):
        with pytest.raises(OfframpError, match=r"^message of DGS: "):
            decode(whole[:cut])
        with pytest.raises(OfframpError, match=r"^message of DGS: .*cut off"):
            decode(whole + whole[:cut])
    with pytest.raises(OfframpError, match=r"^message of DGS: no record at byte 0$"):
        decode(b"\0" * 40)
    miscounted = bytearray(whole)
    miscounted[DGS.size] = 1
    with pytest.raises(OfframpError, match=r"^message of DGS: 2 neighbours counted, 3 announced$"):
        decode(bytes(miscounted))
