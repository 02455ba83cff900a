# SPDX-License-Identifier: Apache-2.0
"""Registers, counters, meters and value sets at the ends of what they hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from offramp_p4.state import CounterState, Exact, MeterState, RegisterState, StateError, Ternary, ValueSetState
from offramp_p4.state.arrays import MeterCell
from offramp_p4.types import Bits


@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_outside_is_refused_by_each_kind(index: int) -> None:
    changes: list[Callable[[], object]] = [
        lambda: RegisterState("r", Bits(8), 4).read(index),
        lambda: RegisterState("r", Bits(8), 4).write(index, 0),
        lambda: CounterState("c", "packets", 4).write(index, 0, 0),
    ]
    for change in changes:
        with pytest.raises(StateError, match=rf"index {index} is outside 0\.\.3") as error:
            change()
        assert error.value.kind == "invalid"


def test_registers_keep_patterns_of_signed_numbers() -> None:
    register = RegisterState("r", Bits(8, signed=True), 4)
    register.write(0, 0x80)
    register.write(3, 0xFF)
    assert list(register.values) == [-128, 0, 0, -1]
    assert [register.read(i) for i in (0, 3)] == [0x80, 0xFF]
    register.write(3, 0)
    assert register.read(3) == 0
    register.write(3, 0xFF)
    for value in (-1, 256):
        with pytest.raises(StateError, match=f"value {value} does not fit"):
            register.write(1, value)
    kept = register.values
    register.reset()
    assert register.values is kept
    assert list(kept) == [0] * 4


def test_counters_keep_both_counts_and_forget_both() -> None:
    counter = CounterState("c", "packets_and_bytes", 2)
    packets, bytes_ = counter.packets, counter.bytes
    counter.write(1, 3, 300)
    assert (list(packets), list(bytes_)) == ([0, 3], [0, 300])
    counter.reset()
    assert counter.packets is packets
    assert (list(packets), list(bytes_)) == ([0, 0], [0, 0])


def test_a_meter_takes_its_burst_and_its_rate_and_no_more() -> None:
    """Ten units per second with a burst of five, twenty with ten: counted by hand."""
    cell = MeterCell()
    assert (cell.rates, cell.levels, cell.last_us) == ((), [], 0)
    assert cell.execute(10**9, 0) == 0  # green without rates
    cell.configure(((1.0, 1),))
    assert cell.last_us == 0
    cell.configure(((10.0, 5), (20.0, 10)), now_us=1_000_000)
    assert [cell.execute(1, 1_000_000) for _ in range(5)] == [0] * 5
    assert [cell.execute(1, 1_000_000) for _ in range(5)] == [1] * 5
    assert cell.execute(1, 1_000_000) == 2
    assert [cell.execute(1, 1_100_000) for _ in range(3)] == [0, 1, 2]  # a tenth of a second: 1 and 2 units
    assert [cell.execute(1, 9_000_000) for _ in range(6)] == [0] * 5 + [1]  # never more than the burst


def test_a_packet_that_one_bucket_refuses_takes_nothing_from_the_next() -> None:
    cell = MeterCell()
    cell.configure(((0.0, 10), (0.0, 4)))
    assert [cell.execute(5, 0), cell.execute(4, 0), cell.execute(6, 0)] == [2, 0, 2]
    assert cell.levels == [6.0, 0.0]


def test_a_meter_array_forgets_its_rates() -> None:
    meters = MeterState("m", "bytes", 2)
    assert meters.cells[0] is not meters.cells[1]
    meters.cells[1].configure(((0.0, 0), (0.0, 0)))
    assert [cell.execute(1, 0) for cell in meters.cells] == [0, 2]
    meters.reset()
    assert [cell.execute(1, 0) for cell in meters.cells] == [0, 0]
    assert len(meters.cells) == 2


def test_value_sets_hold_what_fits_and_match_all_scalars() -> None:
    values = ValueSetState("v", (8, 4), 2)
    members = [(Exact(1), Exact(2)), (Ternary(0x10, 0xF0), Exact(3))]
    values.set(members)
    assert [values.contains(*each) for each in ((1, 2), (0x1F, 3), (1, 3), (0x20, 3))] == [True, True, False, False]
    with pytest.raises(StateError, match="holds at most 2 members") as error:
        values.set([*members, (Exact(0), Exact(0))])
    assert error.value.kind == "exhausted"
    with pytest.raises(StateError, match="a member needs 2 matches"):
        values.set([(Exact(1),)])
    assert values.members == members
