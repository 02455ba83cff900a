# SPDX-License-Identifier: Apache-2.0
"""``offramp leo run kvs`` end to end: requests through PYNQ and the RTL and back (slow: installs PYNQ)."""

import json

import pytest
from typer.testing import CliRunner

from offramp.leo.applications.named import SIMULATED_WINDOW, open_application
from offramp.leo.devices.fpga import SIMULATED_S
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim.rtl.build import missing

pytestmark = pytest.mark.rtl


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_store_runs_over_the_rtl_alone_and_with_the_cpu(tmp_path):
    """Every value is checked against what the store holds, whichever path found its address."""
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    numbers = tmp_path / "numbers.json"
    arguments = ["leo", "run", "kvs", "--device", "fpga=fpga:", "--policy", "uniform"]
    short = ["--seconds", "1", "--rounds", "1"]
    result = CliRunner().invoke(app, [*arguments, *short, "--json", str(numbers)])
    assert result.exit_code == 0, result.output
    rows = json.loads(numbers.read_text())["rows"]
    assert [row["paths"] for row in rows] == [["cpu"], ["fpga"], ["cpu", "fpga"]]
    assert not any(row["wrong"] for row in rows)
    through = [
        sum(outcome["by_path"]["fpga"] for loop in ("closed_loop", "open_loop") for outcome in row[loop])
        for row in rows
    ]
    assert through[0] == 0
    assert through[1] >= SIMULATED_WINDOW
    assert through[2] > 0
    assert all(loop["by_path"]["cpu"] > 0 for loop in rows[2]["closed_loop"])


def test_a_simulated_card_has_time_and_a_board_has_not():
    slow = open_application(["kvs"], devices={"fpga": "fpga:"})
    assert (slow.settings.timeout_s, slow.window) == (SIMULATED_S, SIMULATED_WINDOW)
    board = open_application(["kvs"], devices={"fpga": "fpga:at=board:7000"})
    usual = open_application(["kvs"], devices={})
    assert (board.settings.timeout_s, board.window) == (usual.settings.timeout_s, usual.window)
    assert open_application(["kvs"], devices={"fpga": "fpga:"}, window=7).window == 7
    with pytest.raises(OfframpError, match="no option width"):
        open_application(["kvs"], devices={"fpga": "fpga:width=2"})
