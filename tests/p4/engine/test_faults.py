# SPDX-License-Identifier: Apache-2.0
"""Steps of a packet to the last one, and what errors carry."""

from __future__ import annotations

import pytest

from offramp_p4.engine.faults import ParserFault, Steps, StepsExhausted, fail


def test_a_packet_may_take_all_its_steps_and_no_more() -> None:
    steps = Steps(5)
    for count in (2, 0, 3, 0):
        steps.take(count)
    with pytest.raises(StepsExhausted):
        steps.take(1)
    steps.renew()
    steps.take(5)
    with pytest.raises(StepsExhausted):
        steps.take(1)


def test_a_fault_says_its_code() -> None:
    with pytest.raises(ParserFault) as fault:
        fail(7)
    assert (fault.value.code, str(fault.value)) == (7, "7")
