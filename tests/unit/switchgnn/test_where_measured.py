# SPDX-License-Identifier: Apache-2.0
"""The measured map without a laboratory: its places, its table and its picture, from times that a formula made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pytest

from offramp_base.errors import OfframpError
from offramp_sim.exchanges import laboratory as laboratory_module
from offramp_sim.exchanges.cell import ExchangeTransport, MapCell, TimedExchanges
from offramp_sim.exchanges.formula import Speed, load_of
from offramp_sim.figures.plot import draw
from offramp_sim.reproduce.item import Evidence
from offramp_sim.reproduce.switchgnn import measured
from offramp_sim.reproduce.switchgnn.measured import CENTRE, COPIES, RATES, cells, where_measured

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

SPEED = Speed(4e6, 3e5, 4e8)


class Model:
    """A laboratory whose exchanges take as long as the formula says."""

    def __init__(self, rate: str, digest: str) -> None:
        self.rate_bps = int(rate.removesuffix("mbit")) * 1_000_000
        self.digest = digest

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def time(
        self, boundary: object, cell: MapCell, way: ExchangeTransport, count: int, rates: object = None
    ) -> TimedExchanges:
        assert cell.rate_bps == self.rate_bps
        assert (rates is None) == (way is not ExchangeTransport.AUTO)
        load = load_of(cell, ExchangeTransport.P2P if way is ExchangeTransport.P2P else ExchangeTransport.SWITCH, 1000)
        return TimedExchanges([SPEED.seconds(load, cell.rate_bps, way)] * count, load, "scheme", self.digest)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    places: list[tuple[int, str]] = []

    def model(workers: int, rate: str) -> AbstractContextManager[Model]:
        places.append((workers, rate))
        return Model(rate, "same")

    monkeypatch.setattr(laboratory_module, "laboratory", model)
    return places


def test_the_map_varies_one_axis_at_a_time_around_its_centre() -> None:
    whole = cells(1.0)
    assert CENTRE in whole
    assert len(set(whole)) == len(whole) == sum(map(len, COPIES.values())) * len(RATES) + 2
    beside = [cell for cell in whole if (cell.width, cell.bits) != (128, 32)]
    assert [(cell.width, cell.bits) for cell in beside] == [(32, 32), (128, 8)]
    assert all((c.workers, c.copies, c.rate_bps) == (CENTRE.workers, CENTRE.copies, CENTRE.rate_bps) for c in beside)
    assert len(cells(0.1)) == 2


def test_one_laboratory_serves_all_places_of_a_rate_and_fast_links_come_first(
    opened: list[tuple[int, str]], tmp_path: Path
) -> None:
    study = where_measured(0.25, 0)
    assert opened == [(workers, f"{rate // 1_000_000}mbit") for rate in RATES for workers in COPIES]
    assert study.evidence_of(study.comparisons[0]) in (Evidence.MEASURED, Evidence.SIMULATED)
    ours = {line.what: line.ours for line in study.comparisons}
    assert ours["winners that it names right among the others"] == "8 of 8"
    assert ours["passes per second, fitted to half of the cells"].startswith(("3,9", "4,0"))
    table = [line for line in study.markdown.splitlines() if line.startswith("| ")]
    assert len(table) == 1 + 17
    assert table[1].startswith("| 8 | 1.5 | 100 Mb/s | 128 | 32 | ")
    draw(study.panels, "map", tmp_path / "map.svg")
    assert (tmp_path / "map.svg").stat().st_size < 200_000


def test_ways_that_differ_in_a_sum_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(Model):
        def time(
            self, boundary: object, cell: MapCell, way: ExchangeTransport, count: int, rates: object = None
        ) -> TimedExchanges:
            right = super().time(boundary, cell, way, count, rates)
            return TimedExchanges(right.seconds, right.load, right.scheme, str(way is ExchangeTransport.HYBRID))

    monkeypatch.setattr(laboratory_module, "laboratory", lambda workers, rate: Wrong(rate, ""))
    with pytest.raises(OfframpError, match="4 workers, 2 copies, 300 Mb/s, width 32, 32 bits: hybrid: other sums"):
        measured.measure(cells(0.1), 64, 0, 1)
