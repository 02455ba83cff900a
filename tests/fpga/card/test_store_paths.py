# SPDX-License-Identifier: Apache-2.0
"""Keys of LEO's store by way of a simulated FPGA card (RTL), while others write them by redis' protocol."""

from __future__ import annotations

import pytest

from offramp_sim.rtl.build import missing
from store_paths import check_device


@pytest.mark.rtl
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_card_is_never_behind_what_somebody_knows() -> None:
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    check = check_device("fpga:", seconds=4.0)
    assert check.reads > 20
    assert check.by_copies > 0.2 * check.reads
