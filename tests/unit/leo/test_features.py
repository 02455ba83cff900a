# SPDX-License-Identifier: Apache-2.0
"""Selection of features as a device's function: what DGS's owner of the rows computes."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.dgs.selection import select
from offramp.leo.functions import features
from offramp_base.errors import OfframpError


def test_it_is_what_the_sampler_computes() -> None:
    random = np.random.default_rng(0)
    table = random.normal(size=(50, 12)).astype(np.float32)
    for _ in range(50):
        rows = random.integers(0, 50, int(random.integers(0, 9)))
        columns = (
            None if random.random() < 0.3 else np.sort(random.choice(12, int(random.integers(1, 12)), replace=False))
        )
        expected = select(table, rows, columns)
        assert features.answer(table, features.request(rows, columns)) == expected.tobytes()


@pytest.mark.parametrize(
    "message",
    [b"", bytes(7), features.request(np.arange(3))[:-1], features.request(np.array([4])),
     features.request(np.array([0]), np.array([3]))],
)  # fmt: skip
def test_bad_requests(message: bytes) -> None:
    with pytest.raises(OfframpError, match=r"^features\.select: "):
        features.answer(np.zeros((4, 3), np.float32), message)
