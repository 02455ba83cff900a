"""Tracing changes nothing but the time it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp_p4.frontend import load
from offramp_p4.stf.replay import replay
from offramp_p4.switch import Switch
from offramp_p4.trace import PacketTrace

pytestmark = pytest.mark.p4
FOLDER = Path(__file__).parents[1] / "stf"


@pytest.mark.parametrize("test", sorted(FOLDER.glob("*.stf")), ids=lambda path: path.stem)
def test_a_traced_switch_does_the_same(test: Path) -> None:
    program, text = load(test.with_suffix(".p4")), test.read_text()
    traces: list[PacketTrace] = []
    plain, traced = Switch(program), Switch(program, trace=traces.append)
    expected = replay(plain, text, test.name)
    assert replay(traced, text, test.name) == expected
    assert traced.stats == plain.stats
    assert {n: r.values for n, r in traced.registers.items()} == {n: r.values for n, r in plain.registers.items()}
    assert [t.hits for t in traced.tables.values()] == [t.hits for t in plain.tables.values()]
    spans = [span for trace in traces for span in trace.spans]
    assert sorted(span.output for span in spans if span.output is not None) == sorted(expected)
    ended = [s for t in traces for s in t.spans if s.output or s.dropped or any(t.children(s))]
    assert len(ended) == len(spans)
    assert all(trace.to_json() for trace in traces)


def test_code_without_tracing_knows_nothing_of_it() -> None:
    program = load(FOLDER / "registers.p4")
    before = Switch(program).source
    Switch(program, trace=lambda _: None)
    assert Switch(program).source == before
    assert "trace" not in before
