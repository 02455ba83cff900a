# SPDX-License-Identifier: Apache-2.0
"""``fpga-model:``: the RTL's cycles as a device's times, on a clock of the test's own."""

import struct

import numpy as np
import pytest

from offramp.device import Status
from offramp.leo.devices import model, open_device
from offramp.leo.devices.fpga_model import FUNCTIONS, EngineTiming, FpgaModelOptions
from offramp.leo.functions import ebs, kvs, reduce
from offramp_base.errors import OfframpError


class Clock:
    now = 0

    def monotonic_ns(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    fake = Clock()
    monkeypatch.setattr(model, "time", fake)
    return fake


def ends(device, clock, until_ns):
    """The time at which each request is seen, in steps of a cycle."""
    ended = {}
    while clock.now <= until_ns:
        ended |= {completion.request: (clock.now, completion) for completion in device.poll()}
        clock.now += 4
    return ended


def test_cycles_are_those_that_the_documentation_states():
    """Docs/fpga.md: 10 and memory's; 26; 29 less one and memory's four."""
    times = EngineTiming(FpgaModelOptions(memory_cycles=100))
    assert times.kvs == (4, 10 + 100)
    assert times.ebs == (6, 28 + 4 * 100)
    message = reduce.request(reduce.ElementType.FLOAT32, np.zeros((8, 256), np.float32))
    assert times.of(reduce.NAME, message) == (1 + 8 * 16, 8 * 16 + 26)


def test_look_ups_overlap_as_in_the_engine(clock):
    device = open_device("fpga-model:memory_cycles=40,table_bytes=4096")
    for number in range(20):
        assert device.submit(kvs.NAME, number, struct.pack("<Q", number))
    ended = ends(device, clock, 2000)
    assert [ended[number][0] for number in range(20)] == [4 * (50 + 4 * number) for number in range(20)]
    assert {completion.busy_ns for _, completion in ended.values()} == {200}


def test_reads_of_one_volume_follow_each_other_and_others_pass(clock):
    device = open_device("fpga-model:memory_cycles=10")
    once, again = device._times.ebs, device._times.ebs_again
    for number, volume in enumerate((5, 5, 6)):
        device.submit(ebs.NAME, number, ebs.REQUEST.pack(volume, 1, 0, 0))
    ended = ends(device, clock, 4000)
    assert ended[0][0] == 4 * once[1]
    assert ended[1][0] == 4 * (again[0] + once[1])
    assert again[0] > 4 * 10 > once[0]


def test_another_clock_a_transfer_and_what_it_cannot_do(clock):
    device = open_device("fpga-model:mhz=125,transfer_us=2,memory_cycles=40")
    device.submit(kvs.NAME, 1, bytes(8))
    device.submit("compress", 2, b"")
    ended = ends(device, clock, 5000)
    assert ended[1][0] == 8 * 50 + 2000
    assert ended[2][1].status is Status.UNKNOWN_FUNCTION
    assert tuple(device.functions) == FUNCTIONS


@pytest.mark.parametrize("options", ["flight=3", "width=96", "mhz=0", "memory_cycles=0"])
def test_parameters_that_no_engine_has_are_refused(options):
    with pytest.raises(OfframpError, match="expected a width of at least 128"):
        open_device(f"fpga-model:{options}")
