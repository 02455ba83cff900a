# SPDX-License-Identifier: Apache-2.0
"""The order of jobs that wait for switches: claimants are names here, of which some have ended."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest

from offramp.allreduce.control import SwitchFullError
from offramp.cluster.model import ClusterSwitch
from offramp.job import ledger as ledger_module
from offramp.job import line as line_module
from offramp.job.ledger import opened
from offramp.job.line import WaitingLine
from offramp.job.network import ReductionNetwork
from offramp.job.run import deployed, run_job


@pytest.fixture
def switches(tmp_path):
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        path.mkdir(mode=0o700)
    return [ClusterSwitch(name=path.name, control=f"unix:{path}/control") for path in paths]


@pytest.fixture
def become(monkeypatch):
    """Makes this process another one; those in ``become.ended`` have ended."""
    ended: set[str] = set()
    monkeypatch.setattr(ledger_module, "has_ended", ended.__contains__)
    monkeypatch.setattr(line_module, "has_ended", ended.__contains__)

    def be(name: str) -> None:
        monkeypatch.setattr(line_module, "claimant", lambda: name)

    be.ended = ended
    return be


def ahead(switch: ClusterSwitch, name: str) -> int:
    with opened(switch) as ledger:
        return ledger.ahead_of(name)


def test_the_first_who_waits_is_the_first_everywhere(switches, become):
    a, b = switches
    with ExitStack() as stack:
        for name, where in (("first", [a, b]), ("second", [b]), ("third", [b, a])):
            become(name)
            stack.enter_context(WaitingLine(where)).stand()
        assert [ahead(b, name) for name in ("first", "second", "third", "stranger")] == [0, 1, 2, 3]
        assert [ahead(a, name) for name in ("first", "third", "stranger")] == [0, 1, 2]
        become.ended.add("first")
        assert [ahead(b, name) for name in ("second", "third")] == [0, 1]
        become("third")
        with opened(b) as ledger:
            assert "first" in ledger.line
        WaitingLine([b]).stand()
        with opened(b) as ledger:
            assert list(ledger.line) == ["second", "third"]


def test_whoever_is_admitted_or_gives_up_leaves(switches, become):
    become("x")
    line = WaitingLine(switches)
    line.leave()  # it never stood
    line.stand()
    line.stand()
    line.leave()
    with line:
        line.stand()
    for switch in switches:
        with opened(switch) as ledger:
            assert ledger.line == {}


@pytest.mark.slow
def test_a_small_job_does_not_overtake_a_large_one_that_waits(lab, states, job, tmp_path, monkeypatch):
    """There is room for the small one all the time; the large one gets its room and then the small one."""
    before = states()
    large, small = replace(job, pages=9, wait_s=60.0), replace(job, pages=2)
    first = ExitStack()
    refused: list[str] = []

    def note(what: str, _name: str) -> None:
        if what == "wait" and not refused:
            own = line_module.claimant()
            monkeypatch.setattr("offramp.job.switches.claimant", lambda: "1.2.3 elsewhere")
            with pytest.raises(SwitchFullError, match=r"leaf1: jobs that have waited there for longer: 1$") as error:
                run_job(small, lab, ReductionNetwork.SWITCH, tmp_path / "small")
            refused.append(str(error.value))
            monkeypatch.setattr("offramp.job.switches.claimant", lambda: own)
            first.close()

    (tmp_path / "small").mkdir()
    with first:
        first.enter_context(deployed(large, lab, [ReductionNetwork.SWITCH], tmp_path))
        outcome = run_job(large, lab, ReductionNetwork.SWITCH, tmp_path, note)
    assert (outcome.attempts, len(refused)) == (1, 1)
    run_job(small, lab, ReductionNetwork.SWITCH, tmp_path / "small")
    assert states() == before
