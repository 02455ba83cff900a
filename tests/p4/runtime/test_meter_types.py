# SPDX-License-Identifier: Apache-2.0
"""Types of meters (P4Runtime 1.4): annotations in P4Info, what each takes, and the colours of single-rate meters.

The oracle of colours is RFC 2697 in whole numbers. Blind to meters that are aware of colours, which v1model lacks.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from offramp_base.p4rt.schema import config, v1
from offramp_p4.frontend import load_text
from offramp_p4.runtime.p4info import generate
from offramp_p4.state import OVERFLOW, MeterCell
from p4_programs import program
from p4rt_lab import MODIFY, Lab

METERS = """
    @single_rate_three_color meter(4, MeterType.packets) three;
    @single_rate_two_color meter(4, MeterType.packets) two;
    @two_rate_three_color meter(4, MeterType.packets) rates;
    meter(4, MeterType.packets) plain;
    bit<8> colour;
"""
TEXT = program("three.execute_meter((bit<32>)1, hdr.h.a); sm.egress_spec = 1;", local=METERS)
SECOND_NS = 1_000_000_000
COLOURS, ZERO = ("green", "yellow", "red"), v1.CounterData()


@pytest.fixture(params=["python", "native"])
def lab(request, tmp_path):
    path = Path(tmp_path, "meters.p4")
    path.write_text(TEXT)
    opened = Lab(request.param, path)
    yield opened
    opened.close()


def meter(lab, name: str, **rates: int) -> v1.Entity:
    entry = v1.MeterEntry(meter_id=lab.session.index.meters[name].preamble.id, index=v1.Index(index=1))
    entry.config.CopyFrom(v1.MeterConfig(**rates))
    return v1.Entity(meter_entry=entry)


def test_annotations_are_types_in_p4info() -> None:
    spec = config.MeterSpec
    assert {m.preamble.alias: m.spec.type for m in generate(load_text(TEXT)).meters} == {
        "three": spec.SINGLE_RATE_THREE_COLOR,
        "two": spec.SINGLE_RATE_TWO_COLOR,
        "rates": spec.TWO_RATE_THREE_COLOR,
        "plain": spec.TWO_RATE_THREE_COLOR,
    }


def test_each_type_takes_what_it_has(lab) -> None:
    single = {"cir": 3, "cburst": 4, "pir": 3, "pburst": 4}
    for name in ("three", "two", "rates", "plain"):
        lab.write((MODIFY, meter(lab, name, **single)))  # what a two-colour meter takes, all do
        (entry,) = lab.read(meter_entry=meter(lab, name).meter_entry)
        assert entry.config == v1.MeterConfig(**single)
    excess = {**single, "eburst": 5}
    lab.write((MODIFY, meter(lab, "three", **excess)))
    (entry,) = lab.read(meter_entry=meter(lab, "three").meter_entry)
    assert entry.config == v1.MeterConfig(**excess)
    for name in ("two", "rates", "plain"):
        assert lab.refusal((MODIFY, meter(lab, name, **excess)))[0] == "INVALID_ARGUMENT"
    for name in ("three", "two"):
        for field in ("pir", "pburst"):
            assert lab.refusal((MODIFY, meter(lab, name, **{**single, field: 9})))[0] == "INVALID_ARGUMENT"
    assert lab.refusal((MODIFY, meter(lab, "three", **{**single, "eburst": -1})))[0] == "INVALID_ARGUMENT"


def test_colours_are_those_of_rfc_2697(lab) -> None:
    rate, committed, excess = 2, 3, 5
    lab.write((MODIFY, meter(lab, "three", cir=rate, cburst=committed, pir=rate, pburst=committed, eburst=excess)))
    rng, now, filled = Random(7), lab.device.time_ns, lab.device.time_ns
    in_first, in_second = committed, excess
    seen, expected = [], []
    for _ in range(300):
        now += rng.choice((0, 0, 0, 1, 1, 4)) * SECOND_NS // 2
        lab.device.time_ns = now
        added, filled = (now - filled) * rate // SECOND_NS, now
        for _ in range(added):
            if in_first < committed:
                in_first += 1
            elif in_second < excess:
                in_second += 1
        if in_first:
            in_first, colour = in_first - 1, 0
        elif in_second:
            in_second, colour = in_second - 1, 1
        else:
            colour = 2
        expected.append(colour)
        seen += [frame[0] for _, frame in lab.packets(1, bytes(30))]
    assert seen == expected
    assert set(expected) == {0, 1, 2}
    wanted = meter(lab, "three").meter_entry
    assert not lab.read(meter_entry=wanted)[0].HasField("counter_data")
    wanted.counter_data.SetInParent()
    data = lab.read(meter_entry=wanted)[0].counter_data
    counts = [data.green, data.yellow, data.red]
    assert [c.packet_count for c in counts] == [expected.count(colour) for colour in range(3)]
    assert [c.byte_count for c in counts] == [30 * expected.count(colour) for colour in range(3)]
    wanted.counter_data.red.byte_count = 1
    refused = ("INVALID_ARGUMENT", "meter I.three: counter_data can only be set to zero")
    assert lab.refusal((MODIFY, v1.Entity(meter_entry=wanted))) == refused
    wanted.counter_data.red.byte_count = 0
    wanted.ClearField("config")
    lab.write((MODIFY, v1.Entity(meter_entry=wanted)))
    (entry,) = lab.read(meter_entry=wanted)
    assert entry.counter_data == v1.MeterCounterData(**dict.fromkeys(COLOURS, ZERO))
    assert not entry.HasField("config")


def test_a_yellow_packet_asks_only_the_second_bucket() -> None:
    cell = MeterCell()
    cell.configure(((0.0, 2), (OVERFLOW, 1)))
    assert [cell.execute_coloured(1, 0, before) for before in (1, 1, 2, 0, 0, 0)] == [1, 2, 2, 0, 0, 2]
