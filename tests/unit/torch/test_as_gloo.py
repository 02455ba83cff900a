# SPDX-License-Identifier: Apache-2.0
"""What programs expect of gloo holds with offloads: barriers, sources, types, strides, means, groups, messages."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("torch")
if shutil.which("g++") is None:
    pytest.skip("g++ is missing", allow_module_level=True)

import torch_as_gloo  # noqa: E402
from offramp.torch import build  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    build.load()  # once for this machine and PyTorch: a minute


def run(work, item=None, ranks=2):
    heard = []
    return run_workers(work, [item] * ranks, heard.append), heard


def test_a_barrier_waits_for_offloaded_collectives_begun_before_it():
    missing, _ = run(torch_as_gloo.barriers)
    assert missing == [(0, False), (0, True)]
