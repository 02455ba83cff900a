# SPDX-License-Identifier: Apache-2.0
"""METIS's failures; it catches SIGTERM, so that a command that is told to end may see one of them."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

from offramp.graph import metis
from offramp.graph.metis import metis_parts
from offramp_base.errors import OfframpError

pymetis = pytest.importorskip("pymetis")
RING = np.arange(0, 42, 2), np.stack([(np.arange(20) - 1) % 21, (np.arange(20) + 1) % 21], 1).reshape(-1)

AS_METIS_DOES = """
import signal, time
import numpy as np, pymetis
from offramp.graph.metis import metis_parts
from offramp_base.ending.supervisor import supervised

def fails(*_, **__):
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(1))
    print("begun", flush=True)
    while not told:
        time.sleep(0.01)
    raise RuntimeError("Caught an unknown exception!")

pymetis.part_graph = fails
supervised(lambda: metis_parts(np.array([0, 1, 2]), np.array([1, 0]), 2))
"""


def test_a_failure_is_one_line(monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("no memory")

    monkeypatch.setattr(pymetis, "part_graph", fails)
    monkeypatch.setattr(metis, "UNWIND_S", 0.0)
    with pytest.raises(OfframpError, match="METIS fails for 2 parts of 20 vertices: no memory"):
        metis_parts(*RING, 2)


@pytest.mark.full
def test_a_signal_that_metis_takes_for_a_failure_ends_the_command_with_one_line():
    with subprocess.Popen(
        [sys.executable, "-c", AS_METIS_DOES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (128 + signal.SIGTERM, "ended by SIGTERM\n")
