"""PYNQ's own classes and our drivers over RTL in simulation, where PYNQ is (slow: installs it once)."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from offramp.fpga.sources import fpga_root
from offramp_sim.rtl.board import Board
from offramp_sim.rtl.build import missing
from offramp_sim.rtl.card import PARAMETERS, pynq_python

pytestmark = [pytest.mark.rtl, pytest.mark.slow]
SCRIPT = Path(__file__).with_name("drive.py")


@pytest.fixture(scope="module")
def found():
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    board = Board("icarus", PARAMETERS)
    command = [str(pynq_python()), "-W", "ignore", str(SCRIPT), str(board.socket), str(board.dram)]
    environment = os.environ | {"PYTHONPATH": str(fpga_root() / "pynq")}
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as script:
            try:
                assert script.stdout.readline().strip() == "listening"
                board.start()
                said, _ = script.communicate(timeout=280)
            finally:
                script.kill()
        assert script.returncode == 0, board.log()
        return json.loads(said)
    finally:
        board.close()


def test_an_overlay_of_another_version_is_refused(found):
    for engine in ("KvsLookup", "Reduce"):
        refused = found[f"version of {engine}"]
        assert refused.startswith(f"WrongRegisterMap: {engine}: the overlay has register map 4f465250 version")
        assert refused.endswith("load the overlay that came with this driver")


def test_pynq_binds_our_drivers_and_its_own(found):
    assert found["drivers"] == ["KvsLookup", "Reduce", "pynq.lib.dma"]


def test_bad_use_is_refused(found):
    assert found["table"] == "ValueError: a table of 48 buckets: expected a power of two"
    assert found["keys"] == "ValueError: 1025 keys, a packet takes 1024"
    assert found["packet"].startswith("ValueError: a packet of")
    assert found["memory"].startswith("MemoryError:")


def test_statuses_and_counts_come_back(found):
    assert found["opcode"] == [1, 0, 99]
    assert found["none"] == [0, 0, 5]
    assert found["many"] == [0, 1024, 6]
    assert found["lookups"] == 1024
    assert found["after abort"] == [0, 1, 8]
