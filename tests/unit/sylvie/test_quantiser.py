# SPDX-License-Identifier: Apache-2.0
"""The quantiser: statistics (S1, S2, S6), edges (S3 to S5), packing (S7), machine code against the NumPy model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offramp.sylvie import kernel, model, quantiser
from offramp.sylvie.kernel import BITS
from offramp.sylvie.quantiser import Codes, check_array, dequantise, quantise, row_bytes
from offramp.sylvie.streams import fractions, stream
from offramp_base.errors import OfframpError

DRAWS = 12_000


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and left.tobytes() == right.tobytes()


def decoded(codes: Codes, bits: int, columns: int) -> np.ndarray:
    out = np.empty((len(codes.packed), columns), np.float32)
    dequantise(codes, bits, out)
    return out


def draws(row: np.ndarray, bits: int, seed: int = 3, *, compact: bool = False) -> np.ndarray:
    """Many independent decodings of one row."""
    many = np.repeat(row[None], DRAWS, axis=0)
    return decoded(quantise(many, None, bits, seed, compact=compact), bits, len(row))


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("shape", ["normal", "uniform", "skewed"])
def test_unbiased_within_the_bound_of_the_variance(bits, compact, shape):
    rng = np.random.default_rng(bits)
    row = {"normal": rng.normal(size=96), "uniform": rng.uniform(2, 3, 96), "skewed": rng.exponential(size=96) ** 3}[
        shape
    ].astype(np.float32)
    least, greatest, _ = model.bounds(row[None], compact)
    scale = float(greatest[0] - least[0]) / (2**bits - 1)
    got = draws(row, bits, compact=compact).astype(np.float64)
    part = (row - np.float64(least[0])) / scale
    part -= np.floor(part)
    sigma = scale * np.sqrt(part * (1 - part) / DRAWS)
    assert (np.abs(got.mean(axis=0) - row) <= 4 * sigma + 1e-4 * scale).all()
    assert np.abs(got - row).max() < scale * (1 + 1e-5)
    spread = got.var(axis=0).sum()
    assert spread <= len(row) * scale**2 / 4
    assert spread == pytest.approx(scale**2 * (part * (1 - part)).sum(), rel=0.05)
    if bits >= 4 and shape != "skewed":
        assert spread == pytest.approx(len(row) * scale**2 / 6, rel=0.35)


def test_the_law_of_a_sixth_at_many_columns():
    row = np.random.default_rng(5).normal(size=4096).astype(np.float32)
    for bits in (4, 8):
        scale = float(np.ptp(row)) / (2**bits - 1)
        codes = quantise(np.repeat(row[None], 50, axis=0), None, bits, 1)
        got = decoded(codes, bits, len(row))
        assert got.var(axis=0).sum() == pytest.approx(len(row) * scale**2 / 6, rel=0.1)


@pytest.mark.parametrize("bits", BITS)
def test_extremes_are_exact_and_no_code_is_too_high(bits):
    rng = np.random.default_rng(7)
    x = (rng.normal(size=(4000, 33)) * 10.0 ** rng.integers(-25, 25, (4000, 1))).astype(np.float32)
    codes = quantise(x, None, bits, 11)
    got, code = decoded(codes, bits, 33), model.unpack(codes.packed, bits, 33)
    rows = np.arange(4000)
    for place in (x.argmin(axis=1), x.argmax(axis=1)):
        assert same_bits(got[rows, place], x[rows, place])
    assert (code[rows, x.argmin(axis=1)] == 0).all()
    assert (code[rows, x.argmax(axis=1)] == 2**bits - 1).all()
    assert (got >= x.min(axis=1, keepdims=True)).all()
    assert (got <= x.max(axis=1, keepdims=True)).all()


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("columns", [1, 5, 64])
@pytest.mark.parametrize("value", [0.0, -0.0, 7.1, -3e38, 1e-45])
def test_constant_rows_are_exact(bits, columns, value):
    x = np.full((3, columns), value, np.float32)
    assert (decoded(quantise(x, None, bits, 0), bits, columns) == x).all()


def test_a_row_of_one_column_is_always_exact():
    x = np.random.default_rng(0).normal(size=(50, 1)).astype(np.float32)
    assert same_bits(decoded(quantise(x, None, 1, 0), 1, 1), x)


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 31, 40])
def test_a_row_with_no_number_is_named(value, column, interpreted):
    x = np.ones((9, 41), np.float32)
    x[6, column] = value
    with pytest.raises(OfframpError) as error:
        quantise(x, np.array([2, 6, 4]), 2, 0, interpreted=interpreted)
    message = "row 6 cannot be quantised: it holds NaN or infinity, or its range is beyond float32"
    assert str(error.value) == message


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("compact", [False, True])
def test_huge_and_tiny_ranges(compact, interpreted):
    x = np.zeros((2, 40), np.float32)
    x[1, :2] = 3e38, -3e38
    with pytest.raises(OfframpError, match="row 1 cannot be quantised"):
        quantise(x, None, 8, 0, compact=compact, interpreted=interpreted)
    x[1, :2] = 1e5, -1e38  # beyond float16, not beyond what travels
    codes = quantise(x, None, 8, 0, compact=compact, interpreted=interpreted)
    assert np.isfinite(decoded(codes, 8, 40)).all()
    x[1, :2] = 1e-40, 3e-32  # a range below 2^-100 counts as none
    codes = quantise(x, None, 8, 0, interpreted=interpreted)
    assert np.abs(decoded(codes, 8, 40) - x).max() <= 2.0**-100


def test_compact_bounds_enclose_the_row_and_are_bfloat16():
    x = np.random.default_rng(2).normal(size=(300, 20)).astype(np.float32) * np.float32(1e6)
    codes = quantise(x, None, 4, 0, compact=True)
    for bound in (codes.least, codes.greatest):
        assert (bound.view(np.uint32) & 0xFFFF == 0).all()
    assert (codes.least <= x.min(axis=1)).all()
    assert (codes.greatest >= x.max(axis=1)).all()
    assert ((codes.greatest - codes.least) <= np.ptp(x, axis=1) * 1.05).all()


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("columns", [*range(1, 18), 31, 32, 33, 63, 64, 96, 100])
def test_packing_round_trip(bits, columns):
    code = np.random.default_rng(columns).integers(0, 2**bits, (7, columns)).astype(np.uint8)
    packed = model.pack(code, bits)
    assert packed.shape == (7, row_bytes(columns, bits)) == (7, -(-columns * bits // 8))
    assert (model.unpack(packed, bits, columns) == code).all()


def test_the_first_code_is_in_the_lowest_bits():
    assert model.pack(np.array([[1, 0, 1, 1, 0, 0, 0, 0, 1]], np.uint8), 1).tolist() == [[0b00001101, 1]]
    assert model.pack(np.array([[3, 0, 2, 1, 2]], np.uint8), 2).tolist() == [[0b01100011, 2]]
    assert model.pack(np.array([[0xA, 0x5, 0xF]], np.uint8), 4).tolist() == [[0x5A, 0x0F]]


@given(
    bits=st.sampled_from(BITS),
    columns=st.integers(1, 140),
    compact=st.booleans(),
    add=st.booleans(),
    threads=st.integers(1, 3),
    seed=st.integers(0, 2**64 - 1),
)
def test_machine_code_and_model_are_equal_to_the_bit(bits, columns, compact, add, threads, seed):
    rng = np.random.default_rng(seed % 2**32)
    x = (rng.normal(size=(23, columns + 3)) * 10.0 ** rng.integers(-30, 30, (23, 1))).astype(np.float32)[:, 2:-1]
    x[3], x[5] = 0, -1.1
    rows = rng.permutation(23)[: rng.integers(0, 23)]
    results = [
        quantise(x, rows, bits, seed, compact=compact, threads=t, interpreted=i) for t, i in ((threads, 0), (1, 1))
    ]
    assert all(same_bits(native, plain) for native, plain in zip(*results, strict=True))
    outs = [np.full((23, columns + 5), np.float32(0.5)) for _ in range(2)]
    for out, interpreted in zip(outs, (False, True), strict=True):
        dequantise(results[0], bits, out[:, 3:-2], rows, add=add, threads=threads, interpreted=interpreted)
    assert same_bits(*outs)
    others = np.delete(outs[0], rows, axis=0)
    assert (others == 0.5).all()
    assert (outs[0][:, :3] == 0.5).all()


def test_a_row_has_the_same_codes_wherever_it_stands():
    x = np.random.default_rng(1).normal(size=(40, 50)).astype(np.float32)
    whole = quantise(x, None, 2, 9).packed
    picked = np.array([30, 2, 17])
    assert (quantise(x, picked, 2, 9).packed == whole[picked]).all()
    assert (quantise(x, picked, 2, 10).packed != whole[picked]).any()


def test_random_numbers_are_even_and_independent_between_rows_columns_and_seeds():
    numbers = fractions(stream(1, 2), np.arange(600), 512).astype(np.float64)
    assert 0 < numbers.min() < numbers.max() < 1
    count = numbers.size
    counts = np.bincount((numbers * 64).astype(int).ravel(), minlength=64)
    assert ((counts - count / 64) ** 2 / (count / 64)).sum() < 63 + 5 * np.sqrt(2 * 63)
    centred = (numbers - 0.5) * np.sqrt(12)
    other = (fractions(stream(2, 2), np.arange(600), 512).astype(np.float64) - 0.5) * np.sqrt(12)
    shifts = [(0, 1), (1, 0), (1, 1), (0, 16), (0, 32), (2, 0), (5, 7)]
    products = [centred[r:, c:] * centred[: 600 - r, : 512 - c] for r, c in shifts] + [centred * other]
    for product in products:
        assert abs(product.mean()) < 5 / np.sqrt(product.size)


def test_streams_differ_by_place():
    seeds = {stream(s, *p) for s in range(4) for p in ((), (0,), (0, 0), (1,), (0, 1), (1, 0), (2, 3, 1))}
    assert len(seeds) == 28
    assert all(0 <= s < 2**64 for s in seeds)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bits": 3}, "bits 3: expected one of 1, 2, 4, 8"),
        ({"x": np.zeros((2, 3))}, r"x: expected float32 rows of at least one column, got float64 \(2, 3\)"),
        ({"x": np.zeros((2, 0), np.float32)}, "x: expected float32 rows of at least one column"),
        ({"x": np.zeros((6, 4), np.float32)[:, ::2]}, "x: expected contiguous columns"),
        ({"x": np.zeros((6, 4), np.float32)[::-1]}, "x: expected contiguous columns"),
        ({"rows": np.array([0, 2])}, "rows: expected numbers from 0 to 1"),
        ({"into": np.zeros((2, 2), np.uint8)}, r"packed: expected contiguous uint8 of shape \(2, 1\)"),
        ({"into": np.zeros((2, 1), np.int8)}, r"packed: expected contiguous uint8 of shape \(2, 1\), got int8"),
    ],
)
def test_golden_errors(change, message):
    given_ = {"x": np.zeros((2, 3), np.float32), "rows": None, "bits": 1, "into": None} | change
    with pytest.raises(OfframpError, match=message):
        quantise(given_["x"], given_["rows"], given_["bits"], 0, into=given_["into"])


def test_numpy_does_the_work_without_llvmlite(monkeypatch):
    x = np.random.default_rng(1).normal(size=(20, 37)).astype(np.float32)
    native = quantise(x, None, 2, 9)

    def missing(bits):
        raise ImportError("llvmlite")

    monkeypatch.setattr(kernel, "functions", missing)
    monkeypatch.setattr(quantiser, "_native", quantiser._native.__wrapped__)
    plain = quantise(x, None, 2, 9)
    assert all(same_bits(*pair) for pair in zip(native, plain, strict=True))
    out = np.zeros_like(x)
    dequantise(plain, 2, out)
    monkeypatch.undo()
    assert same_bits(out, decoded(native, 2, 37))


def test_no_rows():
    codes = quantise(np.zeros((3, 4), np.float32), np.zeros(0, np.int64), 4, 0)
    assert codes.packed.shape == (0, 2)
    dequantise(codes, 4, np.zeros((3, 4), np.float32), np.zeros(0, np.int64))


def test_rows_that_machine_code_can_address() -> None:
    whole = np.zeros((4, 6), np.float32)
    for rows in (whole, whole[::2], whole[:, 1:4], whole[:, ::3][:, :1], whole[:0, ::2], whole[:, 2:3]):
        check_array("x", rows)
    odd: np.ndarray = np.ndarray((4, 1), np.float32, bytearray(128), strides=(26, 4))
    for rows in (whole[:, ::2], whole[::-1], whole[:, ::-1], odd):
        with pytest.raises(OfframpError, match="x: expected contiguous columns"):
            check_array("x", rows)
    for rows in (whole[0], whole[:, :0], whole.astype(np.float64)):
        with pytest.raises(OfframpError, match="x: expected float32 rows of at least one column"):
            check_array("x", rows)
