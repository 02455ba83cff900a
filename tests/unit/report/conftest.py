# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp.report import Report, ReportCheck, ReportTable, TrainingRun
from offramp.report.model import Note
from offramp.train.results import Epoch, SwitchTotals, TrainingResult
from offramp.workers.traffic import Traffic


def result(scale: int = 0, epochs: int = 3, switch: SwitchTotals | None = None) -> dict:
    """A run of two workers whose links carried ``scale`` times the same."""
    records = [
        Epoch(
            epoch=i,
            loss=2.5 / i,
            train_accuracy=0.3 * i,
            val_accuracy=0.29 * i,
            test_accuracy=0.28 * i,
            seconds=0.1,
            communication_seconds=0.05,
            reduction_seconds=0.01,
        )
        for i in range(1, epochs + 1)
    ]
    links = [Traffic(*(scale * n * (worker + 1) for n in (1000, 900, 1500, 1400, 8, 7))) for worker in range(2)]
    settings = {"graph_name": "tiny <graph>", "workers": 2, "lr": 0.01, "split": None}
    return TrainingResult(settings, records, 12.25, links, switch or SwitchTotals()).as_dict()


@pytest.fixture
def report() -> Report:
    return Report(
        title="A report & more",
        summary="Two workers.",
        runs=[
            TrainingRun("local", result()),
            TrainingRun("p2p", result(3)),
            TrainingRun("strawman", result(2, switch=SwitchTotals(50, 40, 9, 4321))),
            TrainingRun("switch", result(1, switch=SwitchTotals(44, 33, 7, 0))),
        ],
        command="offramp train --epochs 3 '<x>'",
        checks=[ReportCheck("One is one.", True), ReportCheck("One is two.", False)],
        tables=[ReportTable("Predicted", ["partition", "wire"], [["hash", 12345], ["metis", 0.5]], "Only a guess.")],
        notes=[Note("What is counted", "Everything.")],
    )
