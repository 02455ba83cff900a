# SPDX-License-Identifier: Apache-2.0
"""In a process of its own: what is set stays set."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.full

PROGRAM = """
import resource, sys
import numpy as np
from offramp_base.freed_memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        np.ones(8 << 20)  # 64 MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

np.ones(8 << 20)
without = faults()
assert keep_freed_memory()
faults()
print(without, faults())
"""


def test_arrays_come_from_memory_that_is_there() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    without, kept = map(int, run.stdout.split())
    assert kept * 5 < without
