# SPDX-License-Identifier: Apache-2.0
"""``offramp gnn train``: what each rank is given, what is shown of a run. Training itself is tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from offramp.gnn.epochs import GnnEpoch, GnnResult
from offramp.gnn.settings import GnnJob
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_cli.gnn.train import SwitchAddress, _job

PORTS = "3@udp:127.0.0.1:4000,4@udp:127.0.0.1:4001"
EPOCHS = (GnnEpoch(1, 0.5, 0.25, 0.125, 0.75, 0.01, 1.0), GnnEpoch(2, 0.25, 0.5, 0.375, 0.625, 0.01, 2.0))


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[GnnJob]:
    """Inputs of the ranks of a run on two parts; no rank runs."""
    given: list[GnnJob] = []

    def on_ranks(work: object, settings: Any, kind: type, on_report: Any, open_job: Any) -> GnnResult:
        del work, settings
        assert kind is GnnJob
        with open_job(2) as job:
            given.append(job)
        for epoch in EPOCHS:
            on_report(epoch)
        return GnnResult(EPOCHS, 2, 1234)

    monkeypatch.setattr("offramp_cli.gnn.ranks.on_ranks", on_ranks)
    return given


def train(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["gnn", "train", "store", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return [" ".join(line.split()) for line in result.output.splitlines()]


def test_epochs_and_the_best_of_them(jobs: list[GnnJob], tmp_path: Path) -> None:
    lines = train("--propagator", "p2p", "--json", str(tmp_path / "n.json"))
    assert "epoch 2 loss 0.2500 train 0.5000 val 0.3750 test 0.6250 2.000 s" in lines
    assert {"best epoch 2", "validation accuracy 0.3750", "test accuracy 0.6250", "parameters 1234"} <= {*lines}
    assert (jobs[0].address, jobs[0].ports) == ("", ())
    written = json.loads((tmp_path / "n.json").read_text())
    assert (written["best"], written["parameters"], len(written["epochs"])) == (2, 1234, 2)


def test_other_ranks_say_nothing(jobs: list[GnnJob], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offramp.workers.place.leads", lambda: False)
    assert train("--propagator", "p2p") == []
    assert len(jobs) == 1


def test_ranks_of_a_live_switch_know_all_ports(jobs: list[GnnJob]) -> None:
    train("--propagator", "switch", "--switch", "unix:/tmp/p4rt", "--ports", PORTS)
    links = [(3, "udp:127.0.0.1:4000"), (4, "udp:127.0.0.1:4001")]
    assert (jobs[0].address, jobs[0].ports) == ("unix:/tmp/p4rt", links)


def test_one_rank_needs_no_switch() -> None:
    settings: Any = SimpleNamespace(propagator="switch")
    with _job(settings, SwitchAddress("unix:/tmp/p4rt", "3@udp:127.0.0.1:4000"), 1) as job:
        assert (job.address, job.ports) == ("", ())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--propagator", "p2p", "--switch", "unix:x"], "--switch: goes with --propagator switch only"),
        (["--propagator", "p2p", "--ports", PORTS], "--ports: goes with --propagator switch only"),
        (["--propagator", "switch", "--switch", "unix:x"], "--ports: --switch and --ports go together"),
        (["--propagator", "switch", "--ports", PORTS], "--switch: --switch and --ports go together"),
    ],
)
def test_a_switch_without_ports_and_the_other_way_round(jobs: list[GnnJob], arguments: list[str], message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        train(*arguments)
    assert str(caught.value) == message
    assert jobs == []
