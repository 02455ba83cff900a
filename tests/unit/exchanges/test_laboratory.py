# SPDX-License-Identifier: Apache-2.0
"""What a laboratory of exchanges plans, writes and sums up, without its hosts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from offramp.graph.boundary import Boundary
from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp.switchgnn.cost import Rates
from offramp_sim.exchanges import laboratory as module
from offramp_sim.exchanges.cell import ExchangeTransport, MapCell
from offramp_sim.exchanges.laboratory import ExchangeLaboratory
from offramp_sim.exchanges.rank import END

CELL = MapCell(2, 1.0, 10**9, width=8)


@pytest.fixture
def lab(tmp_path: Path) -> ExchangeLaboratory:
    ranks = SimpleNamespace(hosts=(), processes=[])
    return ExchangeLaboratory(cast("Any", None), cast("Any", ranks), tmp_path)


@pytest.fixture(scope="module")
def boundary() -> Boundary:
    graph = generate("sbm:n=40,k=2,degree=4,features=4", None, 0)
    return Boundary(graph, partition(graph, 2, "hash", 0), 2)


def test_turns_appear_whole_and_are_counted(lab: ExchangeLaboratory) -> None:
    first, second = lab._write([], "one"), lab._write([], "two")
    assert [first.name, second.name] == ["turn-0", "turn-1"]
    assert [(each / END).read_text() for each in (first, second)] == ["one", "two"]
    assert sorted(each.name for each in lab.folder.iterdir()) == ["turn-0", "turn-1"]


@pytest.mark.each
@pytest.mark.parametrize(
    ("way", "bits", "expected"),
    [
        (ExchangeTransport.P2P, 32, ("p2p", "fixed", None)),
        (ExchangeTransport.P2P, 8, ("p2p", "q8", None)),
        (ExchangeTransport.SWITCH, 32, ("switch", None, "paper")),
        (ExchangeTransport.SWITCH, 8, ("switch", None, "q8")),
        (ExchangeTransport.HYBRID, 8, ("switch", None, "hybrid+q8")),
        (ExchangeTransport.AUTO, 32, ("switch", None, "auto")),
    ],
)
def test_settings_of_a_way(
    lab: ExchangeLaboratory, boundary: Boundary, way: ExchangeTransport, bits: int, expected: tuple[str, ...]
) -> None:
    planned = lab._planned(boundary, MapCell(2, 1.0, 10**9, width=8, bits=bits), way, None)
    settings = planned.settings
    propagator, codec, scheme = expected
    assert (settings.propagator, settings.workers, settings.hidden) == (propagator, 2, 8)
    assert (settings.codec == codec) if codec else (settings.scheme == scheme)
    assert bool(planned.exchanges) == (propagator == "switch")
    assert not (lab.folder / "rates.json").exists()


def test_rates_are_for_the_way_that_chooses(lab: ExchangeLaboratory, boundary: Boundary) -> None:
    assert lab._planned(boundary, CELL, ExchangeTransport.HYBRID, Rates()).settings.rates is None
    planned = lab._planned(boundary, CELL, ExchangeTransport.AUTO, Rates(link_bps=1e9))
    assert planned.settings.rates == str(lab.folder / "rates.json")
    assert (lab.folder / "rates.json").exists()


def test_loads_are_those_of_the_workers_counters(
    lab: ExchangeLaboratory, boundary: Boundary, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[dict[str, int]] = []

    def turn(_: ExchangeLaboratory, jobs: object, settings: dict[str, int]) -> dict[str, Any]:
        del jobs
        turns.append(settings)
        return {"seconds": [0.5, 0.25], "moved": [[10, 20, 3], [30, 5, 4]], "digest": "d"}

    monkeypatch.setattr(module.GnnNetwork, "of", lambda *_: SimpleNamespace(links=()))
    monkeypatch.setattr(ExchangeLaboratory, "_turn", turn)
    timed = lab.time(boundary, CELL, ExchangeTransport.P2P, 2)
    assert turns == [{"width": 8, "count": 2}]
    assert (timed.seconds, timed.scheme, timed.digest) == ([0.5, 0.25], "fixed", "d")
    load = timed.load
    assert (load.link_bytes, load.wire_bytes, load.host_packets) == (30.0, 65.0, 7.0)
    assert (load.switch_packets, load.passes) == (0.0, 0.0)
