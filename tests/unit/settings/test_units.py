# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp_base.settings.units import BITS_PER_SECOND, BYTES, MEBIBYTES


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("4MB", 4_000_000), ("4 MiB", 4 << 20), ("1.5kb", 1500), ("2GiB", 2 << 30), ("7B", 7)],
)
def test_sizes(text: str, size: int) -> None:
    assert BYTES.parse(text) == size
    assert BYTES.parse(BYTES.shown(size)) == size


@pytest.mark.parametrize("text", ["", "MB", "-1", "4XB", "4MB4", "1e6", "inf"])
def test_not_a_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a size such as 4MB, 512KiB or 4096$"):
        BYTES.parse(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10mbit", 10**7),
        ("2.5gbit", 2_500_000_000),
        ("2.3Gbit/s", 2_300_000_000),
        ("64000", 64_000),
        ("1tbit", 10**12),
        ("1.001kbit", 1001),
    ],
)
def test_rates(text: str, rate: int) -> None:
    assert BITS_PER_SECOND.parse(text) == rate


@pytest.mark.parametrize("text", ["ten", "0.1bit", ""])
def test_not_a_rate(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a rate such as 10mbit, 2\.5gbit or 64000$"):
        BITS_PER_SECOND.parse(text)


@pytest.mark.parametrize(("text", "size"), [("2", 2 << 20), ("2MB", 2_000_000), ("2MiB", 2 << 20), ("7B", 7)])
def test_a_number_alone_may_count_more_than_bytes(text: str, size: int) -> None:
    assert MEBIBYTES.parse(text) == size
