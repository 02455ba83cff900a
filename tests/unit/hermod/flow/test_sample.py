# SPDX-License-Identifier: Apache-2.0
"""A sample of replicas beside the whole job. Blind to jobs too large to be simulated as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from offramp.hermod.job_file import load_job
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.study import SimulationSetup, compare

SPRAY = SimulationSetup(iterations=2, routing="spray")


@pytest.mark.parametrize(
    ("name", "gpus", "sample"), [("mixtral-8x22b", 1024, 512), ("gpt3-13b", 512, 128), ("qwen-moe-12l", 512, 256)]
)
def test_alike_replicas_take_what_all_take(name, gpus, sample):
    job = replace(load_job(name), gpus=gpus, micro_batches=2)
    whole, part = (compare(job, ["fifo", "fair", "hermod"], replace(SPRAY, sample=n)) for n in (None, sample))
    for policy, outcome in whole.items():
        assert part[policy].iteration_s == pytest.approx(outcome.iteration_s, rel=1e-12)
        assert len(part[policy].end) < len(outcome.end)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (2048, "sample 2048: expected at most the job's 1024 GPUs"),
        (64, "sample 64: expected whole servers, 256 GPUs or more"),
        (1023, "sample 1023"),
    ],
)
def test_samples_that_stand_for_nothing(sample, message):
    job = replace(load_job("qwen-moe-12l"), gpus=1024)
    with pytest.raises(OfframpError, match=message):
        compare(job, ["fifo"], replace(SPRAY, sample=sample))
