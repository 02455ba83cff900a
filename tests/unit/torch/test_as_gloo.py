# SPDX-License-Identifier: Apache-2.0
"""What programs expect of gloo holds with offloads: barriers, sources, types, strides, means, groups, messages."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("torch")
if shutil.which("g++") is None:
    pytest.skip("g++ is missing", allow_module_level=True)

import torch_as_gloo
import torch_ranks
from offramp.torch import build
from offramp.workers.processes import run_workers

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    build.load()  # once for this machine and PyTorch: a minute


def run(work, item=None, ranks=2):
    heard = []
    return run_workers(work, [item] * ranks, heard.append), heard


def test_a_barrier_waits_for_offloaded_collectives_begun_before_it():
    _, heard = run(torch_as_gloo.barriers)
    assert heard == [[(0, False), (0, True)]] * 2


HERMOD = {"offloads": ["hermod"], "least": 1, "interface": "127.0.0.1"}
NETWORKS = pytest.mark.parametrize("settings", [None, torch_ranks.COUNTING], ids=["gloo", "offload"])


@NETWORKS
def test_tensors_of_any_strides_are_exchanged_by_their_elements(settings):
    wrong, heard = run(torch_as_gloo.strides, settings)
    assert (wrong, heard) == ([], [])


@NETWORKS
def test_means_of_floats_and_integers(settings):
    results, _ = run(torch_as_gloo.means, settings)
    for dtype, mean in results.items():
        # Of two ranks: -7 and -6, 0 and 1, 7 and 8; integers towards zero.
        assert mean == ([-6.5, 0.5, 7.5] if "float" in dtype else [-6, 0, 7]), dtype


def test_without_a_compiler_strides_and_means_are_right_too():
    wrong, heard = run(torch_as_gloo.without_compiler)
    assert (wrong, heard) == ([], [])


@pytest.mark.parametrize("settings", [None, torch_ranks.COUNTING, HERMOD], ids=["gloo", "offload", "hermod"])
def test_messages_of_all_types_arrive_and_sums_that_gloo_lacks_are_refused_as_by_gloo(settings):
    _, heard = run(torch_as_gloo.types, settings)
    for rank, lines in heard:
        assert lines["messages"] == []
        names = ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64")
        for number, (_, line) in enumerate(zip(names, lines["sums"], strict=True), 1):
            assert line == f"all_reduce {number} on rank {rank} of group 0: Invalid scalar type"
