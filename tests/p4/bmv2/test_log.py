# SPDX-License-Identifier: Apache-2.0
"""The log of a packet in bmv2's words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from offramp_p4.frontend import load
from offramp_p4.maker import SwitchMaker
from offramp_p4.paced import PacedSwitch
from offramp_p4.switch import Switch
from offramp_p4.tm import TmConfig
from offramp_p4.trace.bmv2_lines import lines
from offramp_p4.trace.model import PacketTrace
from offramp_p4_tools.bmv2.read import from_json
from offramp_p4_tools.bmv2.write import to_json

REFLECTOR = Path(__file__).parents[3] / "p4" / "examples" / "reflector.p4"
FEATURES = Path(__file__).parents[1] / "runtime" / "features.p4"

pytestmark = pytest.mark.p4
NOW = datetime(2026, 1, 2, 3, 4, 5, 6000, UTC)


def log(source: Path, frame: bytes) -> list[str]:
    traces: list[PacketTrace] = []
    Switch(load(source), trace=traces.append).process_one(1, frame)
    return [line for trace in traces for line in lines(trace, NOW)]


def test_every_line_has_bmv2_s_head() -> None:
    logged = log(REFLECTOR, bytes(64))
    assert logged
    assert all(line.startswith("[03:04:05.006] [bmv2] [") for line in logged)
    assert logged[0].endswith("Processing packet received on port 1, 64 bytes")
    assert logged[-1].endswith("Transmitting packet of size 64 out of port 1")


def test_a_table_is_told_as_bmv2_tells_it() -> None:
    text = "\n".join(line.partition("[cxt 0] ")[2] for line in log(FEATURES, bytes(64)))
    assert "Parser 'parser': start\nParser 'parser' entering state 'start'\n" in text
    assert "Extracting header 'ethernet'\n" in text
    assert "Parser 'parser': end\nPipeline 'ingress': start\n" in text
    assert "Applying table 'I.flows'\nLooking up key:" in text
    assert "Table 'I.flows': miss\nAction entry is NoAction - \n" in text


def test_a_compiled_program_is_traced_too() -> None:
    program = from_json(json.dumps(to_json(load(FEATURES))), "features.json")
    traces: list[PacketTrace] = []
    Switch(program, trace=traces.append).process_one(1, bytes(64))
    text = "\n".join(line for trace in traces for line in lines(trace, NOW))
    assert "Applying table 'I.flows'" in text


@pytest.mark.full
def test_a_program_that_reads_queues_gets_queues_and_any_other_its_log(caplog: pytest.LogCaptureFixture) -> None:
    traces: list[object] = []
    make = SwitchMaker(tm=TmConfig.uniform(), trace=traces.append)
    queues = Path(__file__).parents[1] / "tm" / "queues.p4"
    make(load(REFLECTOR)).process_one(1, bytes(64))
    assert len(traces) == 1
    switch = make(load(queues))
    assert isinstance(switch, PacedSwitch)
    switch.process_one(1, bytes(64))
    assert len(traces) == 1
    assert "no traces: the program reads what queues do" in caplog.text
