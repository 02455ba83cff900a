# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_base.settings.units import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("4MB", 4_000_000), ("4 MiB", 4 << 20), ("1.5kb", 1500), ("2GiB", 2 << 30), ("7B", 7)],
)
def test_sizes(text, size):
    assert parse_size(text, "--memory") == size


@pytest.mark.parametrize("text", ["", "MB", "-1", "4XB", "4MB4", "1e6", "inf"])
def test_not_a_size(text):
    with pytest.raises(OfframpError) as error:
        parse_size(text, "--memory")
    assert str(error.value) == f"--memory {text}: expected a size such as 4MB, 512KiB or 4096"
