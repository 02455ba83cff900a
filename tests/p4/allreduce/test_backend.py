# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs whose sums the switch makes: ``init_process_group("offramp")`` with the offload ``allreduce``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if shutil.which("g++") is None:
    pytest.skip("g++ is missing", allow_module_level=True)

import torch_ranks  # noqa: E402
from offramp.allreduce.control import with_control, with_session  # noqa: E402
from offramp.p4src import p4_text  # noqa: E402
from offramp.torch import build  # noqa: E402
from offramp.torch.offload import OFFLOADS  # noqa: E402
from offramp.torch.settings import NetworkSettings  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402
from offramp_p4.embedded import EmbeddedSwitch  # noqa: E402

pytestmark = [pytest.mark.p4, pytest.mark.filterwarnings("ignore::FutureWarning")]

PORTS = [3, 1, 2]
"""By rank: not in order, so that a rank which took its own number for its port would be a stranger."""


@pytest.mark.full
def test_programs_sums_are_made_by_the_switch_which_then_forgets_the_job() -> None:
    build.load()  # once for this machine and PyTorch
    heard: list[object] = []
    with EmbeddedSwitch(None, sorted(PORTS)) as switch:
        text = p4_text("allreduce/v1model.p4", {"PAGES": 2}).encode()
        with_session(switch.address, lambda session: session.push(b"", text), 20.0)
        folder = Path(switch.port_specs[0].removeprefix("unix:")).parent
        network = {"link": f"unix:{folder}/port{{port}}", "control": switch.address, "ports": PORTS}
        results = run_workers(torch_ranks.in_switch, [network] * len(PORTS), heard.append)
        assert with_control(switch.address, lambda control: control._taken(), 5.0) == {}
    assert heard == []
    assert results["wrong"] == []
    assert results["worst"] < 1e-6
    assert results["mean"] == [1.0]
    assert results["calls"]["allreduce"] == ["all_reduce"]
    assert "all_reduce" not in results["calls"].get("gloo", [])
    assert results["overflow"].startswith("all_reduce ")
    assert results["overflow"].endswith("the sum of element 0 does not fit int32")
    assert "by allreduce on rank 0: " in results["overflow"]
    assert results["beyond"] == ([3.0] * 4, ["gloo"])


def test_a_network_without_a_switch_is_refused_when_it_is_read() -> None:
    with pytest.raises(OfframpError, match=r"offload allreduce: expected link, control \(or job\) and ports"):
        OFFLOADS.get("allreduce")(NetworkSettings(link="eth0"))
