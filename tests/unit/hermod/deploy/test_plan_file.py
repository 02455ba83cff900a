# SPDX-License-Identifier: Apache-2.0
"""Plans from files and jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from offramp.hermod.dscp import Meaning
from offramp.hermod.factors import CType
from offramp.hermod.plan_file import load_plan, read_plan
from offramp.hermod.queues import Priority
from offramp_base.errors import OfframpError
from offramp_cli.app import app


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "made.json"
    result = CliRunner().invoke(app, ["hermod", "plan", "qwen-moe-24l", "--json", str(path)], catch_exceptions=False)
    assert result.exit_code == 0
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_a_file_is_what_the_job_gives(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    plan = load_plan(str(path))
    assert plan == load_plan("qwen-moe-24l")
    assert plan.queues[48] == plan.urgent == 7
    assert plan.queues[63] == 6
    assert plan.queues[0] == 0
    assert [dscp for dscp, queue in plan.queues.items() if queue == 7] == [48]


def test_packets_that_carry_other_code_points() -> None:
    plan = load_plan("qwen-moe-24l")
    low, high = (priority.dscp for priority in (plan.priorities[0], plan.priorities[-1]))
    assert plan.queue[low] != plan.queue[high]
    new = next(dscp for dscp in range(64) if dscp not in plan.queues)
    carried = plan.carried_by({low: new, high: new})  # which share the queue of the first
    assert carried.queue[new] == plan.queue[low]
    expected = [(new, plan.queue[low]) if p.dscp in (low, high) else (p.dscp, p.queue) for p in plan.priorities]
    assert [(p.dscp, p.queue) for p in carried.priorities] == expected
    kept = {dscp: queue for dscp, queue in plan.queues.items() if dscp not in (low, high)}
    assert carried.queues == kept | {new: plan.queue[low]}
    assert carried.queue[low] == carried.queue[high] == plan.other


def test_a_plan_needs_as_many_queues_as_it_has(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    count = load_plan(str(path)).count
    assert read_plan(path, count).count == count
    with pytest.raises(OfframpError, match=f"needs {count} queues, the switch has {count - 1}"):
        read_plan(path, count - 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": 0}, "classes 0: expected 1 to 8"),
        ({"queues": 9}, "queues 9: expected 1 to 8"),
        ({"queues": None}, "queues None: expected 1 to 8"),
        ({"queues": 4}, "dscp_to_queue: 4: expected 0 to 3"),
        ({"dscp_to_queue": [0] * 63}, "dscp_to_queue: 63 queues, expected one for each of 64 DSCPs"),
        ({"dscp_to_queue": 3}, "dscp_to_queue: expected a list of numbers"),
        ({"control": [64]}, "control: 64: expected 0 to 63"),
        ({"control": [True]}, "control: True: expected 0 to 63"),
        ({"priorities": []}, "priorities: expected a list of them"),
        ({"priorities": [5]}, "priorities: DSCP None: expected 0 to 63"),
        ({"priorities": [{"dscp": 63, "queue": 6}] * 2}, "priorities: DSCP 63 is given twice"),
        ({"priorities": [{"dscp": 63, "queue": 6, "code": [0]}]}, "priorities: code [0]: expected 0 to 63"),
        (
            {"priorities": [{"dscp": 63, "queue": 6, "types": ["XP"]}]},
            "priorities: DSCP 63: types ['XP']: expected a list of EP, PP, DP, TP",
        ),
        (
            {"priorities": [{"dscp": 63, "queue": 6, "layers": [-1]}]},
            "priorities: DSCP 63: layers: -1: expected 0 to 1048576",
        ),
        ({"job": 3}, "job 3: expected an object"),
        ({"priorities": [{"dscp": 63, "queue": 5}]}, "priorities: DSCP 63 in queue 5, in dscp_to_queue 6"),
    ],
)
def test_wrong_files(document: dict[str, Any], change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**document, **change}))
    with pytest.raises(OfframpError) as caught:
        load_plan(str(path))
    assert str(caught.value) == f"plan {path}: {message}"


def test_rows_may_leave_out_what_their_coflows_are(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    row = {"dscp": 63, "queue": 6, "micro_batches": [0], "types": ["DP"]}
    path.write_text(json.dumps({**document, "priorities": [{**row, "layers": []}]}))
    assert load_plan(str(path)).priorities == (Priority(0, 63, 6),)
    path.write_text(json.dumps({**document, "priorities": [{**row, "layers": [3]}]}))
    assert load_plan(str(path)).priorities == (Priority(0, 63, 6, Meaning((0, 0), (CType.DP,), (3, 3))),)


def test_no_plan_at_all(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    with pytest.raises(OfframpError, match="cannot be read: No such file"):
        load_plan(str(path))
    path.write_text("{")
    with pytest.raises(OfframpError, match="expected JSON"):
        load_plan(str(path))
    path.write_text("[]")
    with pytest.raises(OfframpError, match="expected an object, as offramp hermod plan writes it"):
        load_plan(str(path))


def test_more_classes_than_the_switch_has_queues(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    with pytest.raises(OfframpError, match="needs 8 queues, the switch has 4"):
        load_plan(str(path), 4)
    with pytest.raises(OfframpError, match="classes 4: the switch has 4 queues, one of them for control"):
        load_plan("qwen-moe-24l", 4, classes=4)


def test_ecn_of_a_queue_that_is_not_there() -> None:
    with pytest.raises(OfframpError, match="ECN of queue 4: expected 0 to 3"):
        load_plan("qwen-moe-24l", 4, ecn_bytes={4: 1000})
    with pytest.raises(OfframpError, match="ECN of queue 1: 0 bytes, expected 1 up"):
        load_plan("qwen-moe-24l", 4, ecn_bytes={1: 0})
