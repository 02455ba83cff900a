# SPDX-License-Identifier: Apache-2.0
"""Other people's training libraries on the backend (docs/torch.md), installed for the test where they are not there.

Oracles: gloo, and for pipelines the order of :mod:`offramp.hermod.pipeline`. Blind to GPUs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec

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
HERMOD = {"offloads": ["hermod"], "least": 1, "interface": "127.0.0.1", "micro_batches": 8, "layers": 8}
OFFLOADED = {"megatron_pipeline": (HERMOD, {"hermod send", "hermod recv", "hermod all_reduce"})}
KEEP_GROUPS = {"deepspeed"}
"""Those that take a group of the default group before for one of theirs: each backend has its own processes."""
OTHERS = (torch_ranks.COUNTING, {"counting all_reduce"})


@pytest.fixture
def _installed(name, tmp_path, monkeypatch):
    module, packages = torch_recipes.PACKAGES[name]
    if find_spec(module) is not None:
        return
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "packages")]
    done = subprocess.run([*install, *packages], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install: {done.stderr.strip().splitlines()[-1]}")
    monkeypatch.syspath_prepend(tmp_path / "packages")  # multiprocessing hands it to the ranks


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("name", torch_recipes.RECIPES)
def test_a_library_s_program_ends_with_gloos_bits_and_its_collectives_reach_an_offload(name, tmp_path):
    build.load()
    settings, expected = OFFLOADED.get(name, OTHERS)
    backends = {"gloo": ("gloo", None), "offramp": ("offramp", None), "offloaded": ("offramp", settings)}
    heard: list[object] = []
    counted: dict[str, list[str]] = {}
    for some in [{label: each} for label, each in backends.items()] if name in KEEP_GROUPS else [backends]:
        counted |= run_workers(torch_ranks.recipe, [(name, some, str(tmp_path))] * RANKS, heard.append)
    assert heard == []
    for rank in range(RANKS):
        gloo, offramp, offloaded = (torch.load(tmp_path / f"{label}-rank{rank}.pt") for label in backends)
        assert len(gloo) > 1
        assert len(gloo) == len(offramp) == len(offloaded)
        assert all(map(torch.equal, gloo, offramp))
        if name in OFFLOADED:  # no sum of its depends on an order
            assert all(map(torch.equal, gloo, offloaded))
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(gloo, offloaded, strict=True))
    assert "gloo all_reduce" in counted["offramp"]
    assert expected <= set(counted["offloaded"])
