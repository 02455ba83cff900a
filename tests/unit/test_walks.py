# SPDX-License-Identifier: Apache-2.0
"""Walks through the product stay as short as they are (``python -m support.walk NAME`` prints one)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from walk import PRODUCTS, walk

pytest.importorskip("torch")

from offramp.switchgnn.worker_library import available


@pytest.mark.skipif(not available(), reason="needs a compiler for the worker's library")
def test_a_feature_vector() -> None:
    from walk import feature

    steps = feature.walks()["feature"]
    assert steps.calls <= 20, steps.steps
    assert len(steps.files) <= 8, steps.files
    assert steps.changes <= 14, steps.steps
    assert steps.steps[0][1] == "Neighbourhood.sum"
    assert "CompiledWorker._run" in [name for _, name in steps.steps]
    # The switch's plan with its blocks; what a scheme leaves to hosts; a worker's part, by width and by block.
    assert steps.forms == ["BlockPlan", "ExchangePlan", "LocalBlock", "Plan", "SchemePlan"]


def test_a_walk_counts_the_products_calls_alone() -> None:
    from offramp_base.numerals import whole_number

    steps = walk(lambda: [whole_number(text) for text in ("1", "x")])
    assert steps.calls == 2
    assert (steps.files, steps.changes) == (["base/offramp_base/numerals.py"], 0)
    assert walk(lambda: json.dumps([1])).calls == 0
    assert all(Path(folder).is_dir() for folder in PRODUCTS)


def test_the_command_names_its_walks() -> None:
    command = [sys.executable, "-m", "support.walk", "nothing"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "feature" in done.stderr
