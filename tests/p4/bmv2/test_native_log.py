# SPDX-License-Identifier: Apache-2.0
"""The log of the native engine against that of the Python engine, line by line, with queues and without."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from offramp_base.wire.batch import PacketBatch
from offramp_p4.engines import make_switch
from offramp_p4.frontend import load
from offramp_p4.maker import SwitchMaker
from offramp_p4.native import NativeSwitch, log_lines
from offramp_p4.native.log_lines import ARRIVAL, LOG_MARK, LogLines, _LogLine
from offramp_p4.native.records import RecordFormat, RecordScalar
from offramp_p4.paced import PacedSwitch
from offramp_p4.state import ActionData, Exact, TableEntry
from offramp_p4.switch import Switch
from offramp_p4.tm import TmConfig
from offramp_p4.trace.bmv2_lines import lines
from offramp_p4.trace.sinks import TraceSink
from offramp_p4.types import Bits

HERE = Path(__file__).parent
CONTROL = HERE / "control_plane.p4"
REFLECTOR = HERE.parents[2] / "p4/examples/reflector.p4"
NOW = datetime(2026, 1, 2, 3, 4, 5, 6000, UTC)
ONE_ENGINE = re.compile(
    r"Deparser|'egress': |Primitive|Updated|(Read|Wrote) register|Attempted|Parser state key|Exception|Dropping"
)
"""Lines that one of the engines has alone, or words differently."""

pytestmark = pytest.mark.p4


def texts(log: str) -> list[str]:
    """The lines without their heads."""
    parts = re.split(r"^\[[\d:.]+\] \[bmv2\] ", log, flags=re.MULTILINE)[1:]
    bare = [re.sub(r"\[thread 1\] \[[\d.]+\] \[cxt 0\] ", "", part).strip() for part in parts]
    return [text for text in bare if not ONE_ENGINE.search(text)]


@pytest.mark.full
def test_both_engines_write_the_same() -> None:
    program = load(CONTROL)
    frames = [(1, bytes(40)), (2, bytes([0, 0, 0, 7]) + bytes(40)), (3, bytes(30))]
    by_trace: list[str] = []
    python = Switch(program, trace=lambda trace: by_trace.extend(f"{line}\n" for line in lines(trace, NOW)))
    by_code: list[str] = []
    native = make_switch(program, "native", log=lambda text: by_code.append(str(text, "utf-8")))
    for switch in (python, native):
        entry = TableEntry((Exact(7),), ActionData("I.to", (5,)))
        switch.tables["I.small"].insert(entry)
        outputs = list(switch.process(PacketBatch.of(frames)))
        assert len(outputs) == 3
    expected, written = texts("".join(by_trace)), texts("".join(by_code))
    assert written == expected
    assert "[T] Action I.to" in written
    assert "[D] Action entry is I.to - 05," in written
    assert sum("Transmitting packet of size" in text for text in written) == 3
    numbers = re.findall(r"\[(\d+)\.0\] \[cxt 0\] Processing", "".join(by_code))
    assert numbers == ["0", "1", "2"]


def test_without_a_log_nothing_is_different() -> None:
    program = load(REFLECTOR)
    plain = NativeSwitch(program)
    texts: list[str] = []
    logged = NativeSwitch(program, log=lambda text: texts.append(str(text, "utf-8")))
    assert plain.source != logged.source
    assert "Processing packet" not in "".join(kind.text for kind in plain._module.events)
    batch = PacketBatch.of([(1, bytes(range(64)))])
    assert list(plain.process(batch)) == list(logged.process(batch))
    texts.clear()
    logged.process(PacketBatch.of([(1, bytes(64))] * 600))  # more records than their buffer has room for at first
    (text,) = texts
    assert text.count("Processing packet received on port 1, 64 bytes\n") == 600
    assert text.count("Transmitting packet of size 64 out of port 1\n") == 600


@pytest.mark.full
def test_a_log_keeps_the_queues_and_the_native_engine(tmp_path: Path) -> None:
    log = tmp_path / "log"
    make = SwitchMaker(tm=TmConfig.uniform(), trace=TraceSink(str(log), None, like_bmv2=True))
    switch = make(load(REFLECTOR))
    assert isinstance(switch, PacedSwitch)
    assert switch.engine == "native"
    assert len(switch.process_one(1, bytes(64))) == 1
    text = log.read_text()
    assert "Processing packet received on port 1, 64 bytes\n" in text
    assert "Transmitting packet of size 64 out of port 1\n" in text


def test_lines_of_a_level_that_is_not_wanted_are_left_out(tmp_path: Path) -> None:
    frames, written = [(1, bytes(40)), (2, bytes(30))], {}
    for engine in ("native", "python"):
        for levels in ("D", "DT"):
            log = tmp_path / f"{engine}{levels}"
            switch = SwitchMaker(engine, trace=TraceSink(str(log), None, like_bmv2=True, levels=levels))(load(CONTROL))
            assert switch.engine == engine
            assert len(switch.process(PacketBatch.of(frames))) == 2
            written[engine, levels] = log.read_text()
    for engine in ("native", "python"):
        every = re.split(r"^(?=\[[\d:.]+\])", written[engine, "DT"], flags=re.MULTILINE)
        alone = re.sub(r"^\[[\d:.]+\]", "", written[engine, "D"], flags=re.MULTILINE)
        assert alone == "".join(re.sub(r"^\[[\d:.]+\]", "", line) for line in every if "[bmv2] [D]" in line)
        assert "[T]" in written[engine, "DT"]


def test_traces_in_json_stay_with_the_python_engine(tmp_path: Path) -> None:
    sink = TraceSink(str(tmp_path / "log"), str(tmp_path / "traces"), like_bmv2=True)
    switch = SwitchMaker(trace=sink)(load(REFLECTOR))
    assert switch.engine == "python"


def test_lines_of_any_values_are_those_that_python_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of up to 128 bits, signed ones, records that are no lines, and more lines than are written at once."""
    monkeypatch.setattr(log_lines, "_LINES_BYTES", 4096)
    kinds = [
        RecordFormat(f"{LOG_MARK}D{ARRIVAL}{{}}, {{}} bytes", (word(8), word(16)), 24),
        RecordFormat(f"{LOG_MARK}TKeys {{{{é}}}} {{:x}} and {{:x}}", (scalar(8, 9), scalar(16, 128)), 32),
        RecordFormat(f"{LOG_MARK}DSigned {{:x}}", (RecordScalar(8, Bits(8, signed=True)),), 16),
        RecordFormat("no line", (word(8),), 16),
    ]
    rng, raw, expected, others, passes = random.Random(1), b"", "", [], -1
    for number in [0, *rng.choices(range(len(kinds)), k=2000)]:
        kind = kinds[number]
        sizes = [(cell.bits.width + 7) // 8 for cell in kind.cells]
        values = [rng.choice([0, 1, 9, 10, rng.getrandbits(cell.bits.width)]) for cell in kind.cells]
        content = bytearray(number.to_bytes(8, "little").ljust(kind.size, b"\0"))
        for cell, size, value in zip(kind.cells, sizes, values, strict=True):
            content[cell.offset : cell.offset + size] = value.to_bytes(size, "little")
        raw += content
        passes += number == 0
        if number == 3:
            others.append((kind, tuple(values)))
            continue
        head = f" [bmv2] [{kind.text[1]}] [thread 1] [{passes}.0] [cxt 0] "
        expected += head + _LogLine.of(kind).filled(bytes(content))
    texts: list[str] = []
    lines = LogLines(lambda text: texts.append(str(text, "utf-8")), kinds)
    assert lines.read(np.frombuffer(raw, np.uint8)) == others
    assert len(texts) > 10
    assert re.sub(r"^\[[\d:.]+\]", "", "".join(texts), flags=re.MULTILINE) == expected
    assert "{é}" in expected
    assert "Signed -" in expected


def scalar(offset: int, width: int) -> RecordScalar:
    return RecordScalar(offset, Bits(width))


def word(offset: int) -> RecordScalar:
    return scalar(offset, 64)
