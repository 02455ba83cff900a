# SPDX-License-Identifier: Apache-2.0
"""The compiled soak: P4 programs as machine code, the smartNIC agent's workers, virtual time, seeds.

Short runs of what ``python -m switchgnn_soak`` does for hours, and faults put into programs and workers on purpose,
each of which it must find. Blind to passes of different packets that interleave, and to the workers in Python:
``test_soak.py`` has these.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from offramp.p4src import p4_source, p4_text
from offramp_base.errors import OfframpError
from offramp_p4.frontend import load
from switchgnn_soak import SIZES
from switchgnn_soak.campaign import Plan, Tally, campaign
from switchgnn_soak.compiled import CompiledSoak, Rates
from switchgnn_soak.library import load_library

pytestmark = [pytest.mark.p4, pytest.mark.skipif(shutil.which("g++") is None, reason="the soak needs g++")]


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize(("kind", "runs"), [("v1model", 150), ("replicated", 80), ("leaves", 80)])
def test_some_hundred_seeds(kind: str, runs: int) -> None:
    tally = campaign(Plan(kind, Rates(), 1_000_000, runs))
    assert tally.findings == []
    assert tally.done == tally.verdicts["right"] == runs
    assert tally.frames > 100 * runs


@pytest.mark.full
def test_a_run_is_a_function_of_its_seed(tmp_path: Path) -> None:
    soak = CompiledSoak(load_library(), load(p4_source("switchgnn/v1model.p4"), defines=SIZES))
    together = list(soak.run(40, 30))
    assert together == [outcome for seed in range(40, 70) for outcome in soak.run(seed, 1)]
    assert len({outcome.frames for outcome in together}) > 20


PROGRAM_FAULTS = {
    "an upload counts as often as it comes": ("v1model", "last_round == hdr.switchgnn.round", "false"),
    "packets of any round count": ("v1model", "meta.transit == 0 && hdr.switchgnn.round != meta.now", "false"),
    "DONE counts as often as it comes": ("v1model", "waits_for == meta.next", "false"),
    "FETCH does not release the aggregator": ("v1model", "left = DEAD;", "left = left;"),
    "a dead aggregator opens again": ("v1model", "left == DEAD", "false"),
    "an entry of an older round is not empty": (
        "v1model",
        "entry[31:16] != hdr.switchgnn.round) {\n            meta.operation",
        "entry[31:16] == 0) {\n            meta.operation",
    ),
    "a partial sum counts as often as it comes": ("leaves", "entry[15:0] & leaf != 0", "false"),
}
"""The target of a soak, a text of the program, and the text that takes its place."""
WORKER_FAULTS = {
    "a sum is complete while its aggregator is open": (
        "reception.cpp",
        "if (missing_[cell] == 0 && unreleased_[cell] == 0) finish(cell);",
        "if (missing_[cell] == 0) finish(cell);",
    ),
    "a feature is added as often as it comes": ("reception.cpp", "fresh = cached == 0", "fresh = true"),
    "features of any round count": ("endpoint.cpp", "bool current = packet.round == round_;", "bool current = true;"),
    "DONE is said once": ("endpoint.cpp", "        say_done();\n", ""),
    "DONE of the last two rounds only": ("endpoint.hpp", "remembered = 64", "remembered = 2"),
    "FETCH is answered while a sum is missing only": (
        "endpoint.cpp",
        "if (transmitting_) answer(packet);",
        "if (transmitting_ && reception_) answer(packet);",
    ),
    "what was asked for is not asked for again": (
        "reception.cpp",
        "if (!finished_[block_.targets[e] * chunks_ + c] && !cached_[s * chunks_ + c]) {",
        "if (!finished_[block_.targets[e] * chunks_ + c] && !cached_[s * chunks_ + c] && !asked_[e * chunks_ + c]) {",
    ),
}
"""A file of the worker, a text in it, and what stands in its place."""


def first_quick(faults: dict[str, tuple[str, str, str]]) -> list[object]:
    """One fault of each table is quick enough for every day; each takes a compiler."""
    quick, *rest = faults
    return [quick, *(pytest.param(fault, marks=pytest.mark.slow) for fault in rest)]


@pytest.mark.full
@pytest.mark.parametrize("fault", first_quick(PROGRAM_FAULTS))
def test_a_fault_of_the_program_is_found(tmp_path: Path, fault: str) -> None:
    kind, old, new = PROGRAM_FAULTS[fault]
    text = p4_text("switchgnn/v1model.p4")
    assert old in text
    source = tmp_path / "broken.p4"
    source.write_text(text.replace(old, new))
    assert_found(CompiledSoak(load_library(), load(source, defines=SIZES), two_level=kind == "leaves"))


@pytest.mark.full
@pytest.mark.parametrize("fault", first_quick(WORKER_FAULTS))
def test_a_fault_of_the_worker_is_found(fault: str) -> None:
    name, old, new = WORKER_FAULTS[fault]
    library = load_library({name: (old, new)})
    assert_found(CompiledSoak(library, load(p4_source("switchgnn/v1model.p4"), defines=SIZES)))


def assert_found(soak: CompiledSoak) -> None:
    """One of the first few hundred runs does not end right."""
    assert any(outcome.verdict != "right" for seed in range(2000) for outcome in soak.run(seed, 1))


@pytest.mark.full
def test_a_campaign_goes_on_where_it_was_ended(tmp_path: Path) -> None:
    progress = tmp_path / "progress.json"
    plan = Plan("v1model", Rates(0.1, 0.1, 0.1), 7, 1200)
    first = campaign(plan, progress=progress, seconds=0)
    assert 0 < first.done < plan.runs
    tallies: list[int] = []
    second = campaign(plan, progress=progress, on_progress=lambda tally: tallies.append(tally.done))
    whole = campaign(plan)
    assert tallies[0] > first.done
    assert (second.done, second.frames, second.verdicts) == (whole.done, whole.frames, whole.verdicts)
    assert second.seconds > first.seconds


@pytest.mark.full
def test_progress_of_another_campaign_is_refused(tmp_path: Path) -> None:
    progress = tmp_path / "progress.json"
    campaign(Plan("v1model", Rates(), 0, 10), progress=progress)
    with pytest.raises(OfframpError, match="of another campaign"):
        campaign(Plan("v1model", Rates(), 1, 10), progress=progress)
    progress.write_text("[]")
    with pytest.raises(OfframpError, match="not the progress of a soak"):
        campaign(Plan("v1model", Rates(), 0, 10), progress=progress)


def test_the_last_line_counts_what_was_not_right() -> None:
    tally = Tally(
        done=3, seconds=1.5, frames=1234, verdicts={"right": 1, "wrong": 2, "leaked": 0, "hung": 0, "refused": 0}
    )
    assert str(tally) == "3 runs, 1,234 frames: 2 wrong, 0 leaked, 0 hung, 0 refused, 2 runs per second"
