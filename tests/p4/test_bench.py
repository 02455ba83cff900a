# SPDX-License-Identifier: Apache-2.0
"""Measurements of the P4 switch measure what they say: packets of a workload, compared, none lost."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp.p4src import p4_root
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_p4.bench.rates import measure
from offramp_p4.bench.router import router
from offramp_p4.bench.veth import measure_veth
from offramp_p4.bench.workload import Workload
from offramp_sim.switchgnn.workloads import switchgnn

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("engine", ["python", "native"])
def test_every_packet_is_counted(engine: str) -> None:
    rate = measure(router(64, packets=500), engine, 0.0)
    assert rate.packets == rate.passes == 500
    rate = measure(switchgnn(vertices=40, rounds=1), engine, 0.0)
    assert rate.passes > rate.packets > 0


@pytest.mark.netns
@pytest.mark.parametrize("engine", ["python", "native"])
def test_over_veth(engine: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    assert measure_veth(router(64, packets=512), engine, 0.3).packets >= 512
    assert measure_veth(switchgnn(vertices=60, rounds=8), engine, 0.3).passes > 0


@pytest.mark.netns
def test_a_switch_that_forwards_wrongly_is_not_measured() -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    plain = router(64, packets=256)
    prepared = []

    def spoil(switch) -> None:  # type: ignore[no-untyped-def]
        plain.prepare(switch)
        if prepared:  # the second switch to be prepared is the one that is measured
            switch.tables["RouterIngress.next_hops"].clear()
        prepared.append(switch)

    spoilt: Workload = replace(plain, prepare=spoil)
    with pytest.raises(OfframpError, match=r"python over veth: of 16 frames .* did not come back as they should"):
        measure_veth(spoilt, "python", 0.1)


def test_command(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    arguments = ["switch", "bench", str(p4_root() / "examples/reflector.p4"), "--seconds", "0", "--no-bmv2"]
    result = CliRunner().invoke(app, [*arguments, "--json", str(report)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    rates = {rate["switch"]: rate for rate in json.loads(report.read_text())["rates"]}
    assert rates["native"]["packets_per_s"] > rates["python"]["packets_per_s"] > 0
    assert "ns/pass" in result.output
    assert rates["python"]["packets"] == rates["python"]["passes"] == 4096
    assert rates["python"]["ns_per_pass"] == pytest.approx(1e9 / rates["python"]["passes_per_s"])
