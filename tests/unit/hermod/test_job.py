# SPDX-License-Identifier: Apache-2.0
"""Jobs, their files and their sizes (specification section 9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp.hermod.job import named_job
from offramp.hermod.job_file import job_from, load_job
from offramp.hermod.sizes import sizes
from offramp_base.errors import OfframpError

SIZES = {
    "qwen-moe-12l": (7.9, 1.03, 67.1, 268, 51.5, 69.2, 5.9, 16.2),
    "mixtral-8x7b": (46.7, 12.6, 134, 268, 42.0, 176, 13.7, 82.2),
    "gpt3-13b": (12.8, 12.6, 21.0, 0, 78.6, 0, 3.4, 6.1),
    "qwen-moe-24l": (15.1, 2.1, 16.8, 67.1, 6.4, 17.3, 1.5, 4.0),
    "mixtral-8x22b": (80.5, 22, 50.3, 101, 11.0, 302, 6.6, 35.2),
    "gpt3-175b": (174.6, 173.9, 50.3, 0, 226.5, 0, 18.4, 35.2),
}


@pytest.mark.parametrize("name", SIZES)
def test_models_weigh_and_send_what_the_specification_says(name: str) -> None:
    bytes_sent = list(sizes(named_job(name)).values())[7:15]
    del bytes_sent[6]  # what leaves the GPU
    parameters, active, dense, expert, pp, ep, attention = bytes_sent
    ffn = named_job(name).layer_seconds()[1] * 1e3
    ours = (parameters, active, pp, ep, dense, expert, attention, ffn)
    for value, expected in zip(ours, SIZES[name], strict=True):
        assert value == pytest.approx(expected, rel=0.012, abs=0.06)


def test_a_file_changes_a_named_job(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(
        "---\n# a job\nmodel: mixtral-8x22b  # of table 5.5\ngpus: 2048\nnic_gbps: 40\niteration_barrier: true\n"
    )
    job = load_job(str(path))
    assert (job.gpus, job.dp, job.nic_gbps, job.iteration_barrier) == (2048, 32, 40, True)
    toml = tmp_path / "job.toml"
    toml.write_text('model = "mixtral-8x22b"\ngpus = 2048\nnic_gbps = 40\niteration_barrier = true\n')
    assert load_job(str(toml)) == job
    assert load_job("mixtral-8x22b") == named_job("mixtral-8x22b")


def test_a_file_describes_a_model() -> None:
    job = job_from(
        {"model": "mine", "layers": 8, "hidden": 64, "heads": 4, "vocabulary": 100, "ffn": 256, "gpus": 4, "pp": 2}
    )
    assert (job.model.name, job.dp, job.model.kv_heads) == ("mine", 2, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpus 3", "line 1: expected 'field: value'"),
        ("model: gpt3-13b\npp: 4\npp: 2", "line 3: field 'pp' is there twice"),
        ("model: gpt3-13b\ngpus: 33", "gpus 33: not divisible by pp x tp = 16"),
        ("model: gpt3-13b\npp: 3\ngpus: 24", "layers 40: not divisible by pp x chunks = 3"),
        ("model: gpt3-13b\nmicro_batch: 0", "micro_batch 0: expected more than 0"),
        ("model: gpt3-13b\nmicro_batch: many", "micro_batch 'many': expected an integer"),
        ("model: gpt3-13b\nep: 2", "ep 2: gpt3-13b has no experts, expected 1"),
        ("model: mixtral-8x7b\nep: 3", "experts 8: not divisible by ep = 3"),
        ("model: gpt3-13b\nschedule: gpipe", "schedule gpipe: expected 1f1b or interleaved"),
        ("model: gpt3-13b\nchunks: 2", "chunks 2: 1f1b has one, expected 1 or schedule interleaved"),
        ("model: gpt3-13b\nschedule: interleaved", "chunks 1: interleaved needs at least 2"),
        (
            "model: gpt3-13b\nschedule: interleaved\nchunks: 2\nmicro_batches: 6",
            "micro_batches 6: not divisible by pp = 4",
        ),
        ("model: gpt3-13b\ndp: 3", "dp 3: gpus / (pp x tp) is 2"),
        ("layers: 4", "field 'hidden' of the model is missing"),
        ("model: gpt3-13b\ntp: 16\ngpus: 64\npp: 4", "gpus_per_server 8: not divisible by tp = 16"),
    ],
)
def test_a_job_that_does_not_fit_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    with pytest.raises(OfframpError) as error:
        load_job(str(path))
    assert str(error.value) == f"job {path}: {message}"


def test_unknown_names_are_listed() -> None:
    with pytest.raises(OfframpError, match="model gpt5: expected one of qwen-moe-12l"):
        load_job("gpt5")
    with pytest.raises(OfframpError, match=r"unknown field 'gpu', expected model, gpus"):
        job_from({"model": "gpt3-13b", "gpu": 3})
