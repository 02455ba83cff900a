# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from offramp.dgtp.cluster import Machine
from offramp_base.errors import OfframpError

GOOD: dict[str, Any] = {"capacity": {"gpu": 0}, "ingress_bps": 1e9, "egress_bps": 1e9, "speed": {"worker": 0.5}}


def test_a_machine_may_lack_a_resource() -> None:
    assert Machine("a", **GOOD).capacity == {"gpu": 0}


@pytest.mark.parametrize("amount", [-1, -0.5, float("inf"), float("nan")])
def test_resources_that_cannot_be_are_refused(amount: float) -> None:
    with pytest.raises(OfframpError, match=rf"machine a: gpu {amount}: expected at least 0"):
        Machine("a", **GOOD | {"capacity": {"gpu": amount}})


@pytest.mark.parametrize("field", ["ingress_bps", "egress_bps"])
@pytest.mark.parametrize("rate", [0, -1.0, float("inf")])
def test_rates_and_speeds_are_above_zero(field: str, rate: float) -> None:
    with pytest.raises(OfframpError, match=rf"machine a: {field} {rate}: expected more than 0 bit/s"):
        Machine("a", **GOOD | {field: rate})
    with pytest.raises(OfframpError, match=rf"machine a: speed of worker {rate}: expected more than 0"):
        Machine("a", **GOOD | {"speed": {"worker": rate}})
