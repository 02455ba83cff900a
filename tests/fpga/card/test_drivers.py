# SPDX-License-Identifier: Apache-2.0
"""PYNQ's own classes and our drivers over RTL in simulation, where PYNQ is (slow: installs it once)."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from offramp.fpga.sources import fpga_root
from offramp_sim.rtl.board import SimulatedBoard
from offramp_sim.rtl.build import missing
from offramp_sim.rtl.card import pynq_python
from offramp_sim.rtl.overlay import PARAMETERS

pytestmark = [pytest.mark.rtl, pytest.mark.slow]
SCRIPT = Path(__file__).with_name("drive.py")


@pytest.fixture(scope="module")
def results():
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    board = SimulatedBoard("icarus", tuple(PARAMETERS))
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


def test_an_overlay_of_another_version_is_refused(results):
    for engine in ("KvsLookup", "Reduce", "EbsLookup", "P2pDma", "PathRouter", "QuantPack"):
        refused = results[f"version of {engine}"]
        assert refused.startswith(f"WrongRegisterMap: {engine}: the overlay has register map 4f465250 version")
        assert refused.endswith("load the overlay that came with this driver")


def test_pynq_binds_our_drivers_and_its_own(results):
    assert results["drivers"] == ["KvsLookup", "Reduce", "pynq.lib.dma"]


def test_bad_use_is_refused(results):
    assert results["table"] == "ValueError: a table of 48 buckets: expected a power of two"
    assert results["keys"] == "ValueError: 1025 keys, a packet takes 1024"
    assert results["packet"].startswith("ValueError: a packet of")
    assert results["memory"].startswith("MemoryError:")


def test_statuses_and_counts_come_back(results):
    assert results["opcode"] == [1, 0, 99]
    assert results["none"] == [0, 0, 5]
    assert results["many"] == [0, 1024, 6]
    assert results["lookups"] == 1024
    assert results["after abort"] == [0, 1, 8]


def test_reads_of_volumes_find_blocks_and_take_tokens(results):
    status, number, reads = results["reads"]
    assert (status, number) == (0, 31)
    assert reads == [[0, 9, 1 << 33], [0, 9, 1 << 33], [5, 0, 0], [1, 0, 0]]
    assert results["bucket"] == 0
    assert results["no tables"].startswith("ValueError: tables of 0 volumes")
    assert results["half a read"].startswith("ValueError: 95 bytes")


def test_copies_are_whole_and_stay_in_their_memories(results):
    assert results["copies"] == [[0, 5000, 41], [0, 100, 42], True]
    assert results["untouched"] == 0
    statuses = {name: results[name] for name in ("beyond", "elsewhere", "no copy", "onto itself")}
    assert statuses == {"beyond": [3, 0, 43], "elsewhere": [3, 0, 44], "no copy": [1, 0, 45], "onto itself": [5, 0, 46]}
    assert results["sizes"] == "ValueError: memories of 100 bytes: expected a multiple of 32"


def test_an_abort_in_a_burst_is_answered_and_the_engine_lives(results):
    assert results["aborted"][0] == 4
    assert results["aborted"][2] == 47
    assert results["after it"] == [0, 1 << 14, 48]


def test_a_full_queue_holds_the_next_descriptor_back_and_loses_none(results):
    sent, numbers = results["queue"]
    assert PARAMETERS["p2p_dma"]["QUEUE"] <= sent < 64
    assert numbers == list(range(50, 50 + sent))
    assert results["counted"] == [4 + sent, 5]


def test_the_router_takes_the_models_that_it_has(results):
    assert results["models"] == ["direct", "off-path", ["direct", "on-path", "off-path"], 0]
    assert results["no model"] == "ValueError: model sideways: the overlay has direct, on-path, off-path"


def test_rows_go_in_parts_where_buffers_are_small(results):
    *statuses, step = results["rows"]
    assert statuses == [0, 0, 0, 0]
    packets = 2 + -(-9 // step)
    assert packets > 3
    assert results["counted rows"] == [packets, packets]
    assert results["rows alike"]
    assert results["values alike"]
    assert results["within a step"]
    assert results["too wide"] == "ValueError: rows of 513 columns: expected 1 to 512"
