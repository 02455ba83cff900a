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

RETURNS = """
import sys
import numpy as np
from offramp_base.freed_memory import return_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) >> 8  # MB, of pages of 4 KB

if sys.argv[1] == "returned":
    assert return_freed_memory()
np.ones(31 << 17)  # 31 MB: from now on arrays of this size are taken from the heap
before = resident()
arrays = [(np.ones(24 << 17), np.ones(1000)) for _ in range(8)]  # a small one lies behind each large one
small = [last for _, last in arrays]
del arrays
print(resident() - before)
"""


def test_arrays_come_from_memory_that_is_there() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    without, kept = map(int, run.stdout.split())
    assert kept * 5 < without


def test_freed_arrays_go_back_to_the_kernel() -> None:
    left = [
        int(subprocess.run([sys.executable, "-c", RETURNS, how], capture_output=True, text=True, check=True).stdout)
        for how in ("kept", "returned")
    ]
    assert left[0] > 100 > 10 * left[1]
