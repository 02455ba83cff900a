# SPDX-License-Identifier: Apache-2.0
"""Some runs of the campaign (``tests/support/allreduce_soak.py``); many of them are slow."""

from __future__ import annotations

import pytest

from allreduce_soak import campaign, run

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("seed", range(12))
def test_a_random_job_is_exact(seed: int) -> None:
    run(seed)


@pytest.mark.slow
def test_ten_thousand_random_jobs_are_exact() -> None:
    campaign(100, 10_000)
