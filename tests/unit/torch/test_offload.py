# SPDX-License-Identifier: Apache-2.0
"""The collectives that an offload takes: by kind, form, type and operation. Blind to what it then does with them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
USUAL = {"kind": "allreduce", "form": "dense", "dtype": torch.float32, "reduce": "SUM"}


@pytest.mark.parametrize(
    ("change", "dtypes", "taken"),
    [
        ({}, None, True),
        ({"kind": "broadcast"}, None, False),
        ({"form": "sparse"}, None, False),
        ({"dtype": torch.int8}, (torch.float32,), False),
        ({}, (torch.float32,), True),
        ({"reduce": "AVG"}, None, True),
        ({"reduce": "AVG", "dtype": torch.int32}, None, True),
        ({"reduce": "AVG", "dtype": torch.bool}, None, False),
        ({"reduce": "SUM", "dtype": torch.bool}, None, True),
        ({"reduce": "MAX"}, None, False),
        ({"reduce": ""}, None, True),
    ],
)
def test_what_an_offload_takes(change, dtypes, taken):
    from offramp.torch.offload import Offload

    class Sums(Offload):
        kinds = ("allreduce",)

    Sums.dtypes = dtypes
    assert Sums.takes(object.__new__(Sums), SimpleNamespace(**USUAL | change)) is taken
