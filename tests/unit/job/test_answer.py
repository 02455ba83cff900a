# SPDX-License-Identifier: Apache-2.0
"""The verdict of a job: it follows from measured steps, and it never contradicts what the page's table shows."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from statistics import median

import pytest

from offramp.job.answer import Circumstances, verdict
from offramp.report import Alternative, Verdict
from offramp.report.judge import MATTERS, apart, doubt, quartiles, spread

GLOO = Alternative("gloo", predicted_s=0.8, note="slower")
SWITCH = Alternative("allreduce", predicted_s=0.4, taken=True, note="2.00 times as fast as gloo")
HERE = Circumstances("gloo", {"gloo": 60.0, "allreduce": 40.0}, {}, processors=2, others=0.1)


def around(seconds: float, count: int = 8, share: float = 0.01) -> tuple[float, ...]:
    return tuple(seconds * (1 + share * (k % 3 - 1)) for k in range(count))


def judged(plain: tuple[float, ...], ours: tuple[float, ...], known: Circumstances = HERE) -> Verdict:
    return verdict([replace(GLOO, measured_s=plain), replace(SWITCH, measured_s=ours)], known)


def test_measured_steps_decide() -> None:
    said = judged(around(0.8), around(0.4), replace(HERE, sent={"gloo": 99_000_000, "allreduce": 66_000_000}))
    text = "A step took 400 ms by allreduce and 800 ms by gloo (medians): 2.00 times as fast."
    assert said == Verdict("yes", f"{text} Hosts sent 66.0 MB by allreduce and 99.0 MB by gloo.")
    assert judged(around(0.4), around(0.8)).answer == "no"


def test_an_offload_that_gains_next_to_nothing_does_not_pay() -> None:
    said = judged(around(0.101, share=0.001), around(0.1, share=0.001))
    assert said.answer == "no"
    assert "no offload that ran gains 2%" in said.sentence


def test_a_spread_wider_than_the_difference_is_no_answer() -> None:
    said = judged(around(0.8, share=0.4), around(0.7, share=0.4))
    assert said.answer == "unknown"
    assert "because the steps of one of them spread more than the two differ" in said.sentence
    few = judged(around(0.8, 3), around(0.4, 8))
    assert few.answer == "unknown"
    assert "because only 3 steps of one of them were measured" in few.sentence
    assert "because only 1 step of one of them was measured" in judged((0.8,), (0.4,)).sentence


def test_load_leaves_only_what_does_not_overlap() -> None:
    busy = replace(HERE, others=2.26)
    load = "other work wanted 2.3 of this machine's 2 processors when the runs began"
    overlapping = judged((*around(0.8), 0.3), around(0.4), busy)
    assert overlapping.answer == "unknown"
    assert f"because {load}: " in overlapping.sentence
    clear = judged(around(0.8), around(0.4), busy)
    assert clear.answer == "yes"
    assert clear.sentence.endswith(f"Steps of the two do not overlap, although {load}.")
    assert load not in judged(around(0.8), around(0.4)).sentence


def test_a_whole_run_that_contradicts_its_steps_is_named_with_its_start_up() -> None:
    known = replace(HERE, seconds={"gloo": 53.0, "allreduce": 112.0})
    plain = replace(GLOO, measured_s=around(0.8), startup_s=44.0)
    ours = replace(SWITCH, measured_s=around(0.4), startup_s=106.0)
    said = verdict([plain, ours], known)
    assert said.answer == "yes"
    assert "The whole run took 112 s by allreduce and 53 s by gloo: start-up, which took 106 s and 44 s, is not" in (
        said.sentence
    )
    unsaid = verdict([replace(plain, startup_s=None), ours], known)
    assert unsaid.sentence.endswith("The whole run took 112 s by allreduce and 53 s by gloo.")
    assert "whole run" not in judged(around(0.8), around(0.4)).sentence


def test_without_a_comparison_nothing_is_told() -> None:
    alone = verdict([GLOO, replace(SWITCH, measured_s=around(0.4))], replace(HERE, seconds={"allreduce": 40.0}))
    assert alone.answer == "unknown"
    assert "the job did not run by gloo (--ablate)" in alone.sentence
    assert alone.sentence.endswith("By the plan: allreduce, 2.00 times as fast as gloo.")
    plain = [replace(GLOO, measured_s=around(0.8), taken=True), replace(SWITCH, taken=False)]
    known = replace(HERE, seconds={"gloo": 60.0}, uncalibrated="it had not ended within 59.9 s")
    said = verdict(plain, known)
    assert said.answer == "unknown"
    assert "because no offload ran" in said.sentence
    assert said.sentence.endswith("The plan rests on models alone: it had not ended within 59.9 s.")
    silent = verdict([GLOO, SWITCH], HERE)
    assert "because the ranks did not say how long their steps took" in silent.sentence


def test_where_no_offload_can_be_taken_none_pays() -> None:
    impossible = replace(SWITCH, predicted_s=None, taken=False)
    assert verdict([replace(GLOO, taken=True), impossible], HERE).answer == "no"


@pytest.mark.parametrize("seed", range(200))
def test_no_verdict_contradicts_the_medians(seed: int) -> None:
    """For any samples: yes and no are what the medians say, and a doubt stays where one reason for it holds."""
    rng = random.Random(seed)
    plain, ours = (
        tuple(centre * rng.lognormvariate(0, width) for _ in range(rng.randrange(1, 12)))
        for centre, width in ((1.0, rng.choice((0.001, 0.1, 1.0))), (rng.choice((0.5, 0.99, 1.0, 2.0)), 0.1))
    )
    known = replace(HERE, others=rng.choice((None, 0.0, 5.0)))
    said = judged(plain, ours, known)
    gain = median(ours) <= median(plain) * (1 - MATTERS)
    assert said.answer in (("yes", "unknown") if gain else ("no", "unknown"))
    if said.answer == "unknown":
        assert doubt(plain, ours) or (known.others and not apart(plain, ours))
    else:
        assert not doubt(plain, ours)
    assert not re.search(r"\bnan\b|None", said.sentence)


def test_quartiles_and_spread() -> None:
    assert quartiles((5.0,)) == (5.0, 5.0)
    assert quartiles((1.0, 2.0, 3.0, 4.0, 5.0)) == (2.0, 4.0)
    assert spread((1.0, 2.0, 3.0, 4.0, 5.0)) == 2.0
    assert not apart((1.0, 3.0), (2.0, 4.0))
    assert apart((1.0, 2.0), (3.0, 4.0))
    assert apart((3.0, 4.0), (1.0, 2.0))
