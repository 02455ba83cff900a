# SPDX-License-Identifier: Apache-2.0
"""Other people's training libraries on the backend, where their packages are installed (docs/torch.md)."""

from __future__ import annotations

import shutil

import pytest

torch = pytest.importorskip("torch")
if shutil.which("g++") is None:
    pytest.skip("g++ is missing", allow_module_level=True)

import torch_ranks  # noqa: E402
import torch_recipes  # noqa: E402
from offramp.torch import build  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RANKS = 4


@pytest.mark.parametrize("name", torch_recipes.RECIPES)
def test_a_library_s_program_ends_with_gloos_bits_and_its_collectives_reach_an_offload(name, tmp_path):
    package = torch_recipes.PACKAGES[name]
    pytest.importorskip(package, reason=f"{package} is not installed")
    build.load()
    results, counted = {}, {}
    for label, which, settings in (
        ("gloo", "gloo", None),
        ("offramp", "offramp", None),
        ("offloaded", "offramp", torch_ranks.COUNTING),
    ):
        folder = tmp_path / label
        folder.mkdir()
        heard: list[object] = []
        item = (name, which, settings, str(folder))
        counted[label] = run_workers(torch_ranks.recipe, [item] * RANKS, heard.append)
        assert heard == []
        results[label] = [torch.load(folder / f"rank{rank}.pt") for rank in range(RANKS)]
    for gloo, offramp, offloaded in zip(*results.values(), strict=True):
        assert len(gloo) > 1
        assert len(gloo) == len(offramp) == len(offloaded)
        assert all(map(torch.equal, gloo, offramp))
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(gloo, offloaded, strict=True))
    assert "gloo all_reduce" in counted["offramp"]
    assert "counting all_reduce" in counted["offloaded"]
