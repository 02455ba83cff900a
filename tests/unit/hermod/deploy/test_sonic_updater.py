# SPDX-License-Identifier: Apache-2.0
"""Patches taken by SONiC's own generic config updater, which orders and validates what ``config apply-patch`` is given.

``OFFRAMP_SONIC_PYTHON`` names an interpreter that can import ``generic_config_updater`` (sonic-utilities),
``sonic_yang``, ``sonic_py_common`` (sonic-buildimage) and ``libyang`` with SONiC's patches, ``SONIC_YANG_MODELS`` the
folder of the models, templates rendered; ``OFFRAMP_SONIC_CONFIGS``, if it is set, a JSON file of more configurations by
name. Blind to what services and the ASIC make of the tables.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fake_sonic
import sonic_configs
import sonic_updater
from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.sonic.fitting import NoRoomError
from offramp.hermod.deploy.sonic.patch import diff
from offramp.hermod.deploy.sonic.target import SonicTarget
from offramp.hermod.plan_file import load_plan
from sonic_configs import Config

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(
        not {"OFFRAMP_SONIC_PYTHON", "SONIC_YANG_MODELS"} <= set(os.environ),
        reason="needs an interpreter with SONiC's updater in OFFRAMP_SONIC_PYTHON, its models in SONIC_YANG_MODELS",
    ),
]
OLD = {"brackets", "lists", "lists in brackets", "ranges of all ports in brackets", "one row for queue 7"}
"""Forms of earlier releases, which today's models refuse as they are."""
BROKEN = {"a map that is missing"}
LIMITS = LineLimits(100 * 10**9, police_bps={6: 40 * 10**9})
MARKED = load_plan("mixtral-8x7b", ecn_bytes={queue: 1000 * (queue + 1) for queue in range(8)})


class Memory:
    """A configuration, and the patch that changed it."""

    name = "SONiC"

    def __init__(self, config: Config) -> None:
        self.config: Any = copy.deepcopy(config)
        self.operations: list[dict[str, Any]] = []

    def read(self) -> Config:
        copied: Config = copy.deepcopy(self.config)
        return copied

    def apply(self, operations: list[dict[str, Any]], after: Config) -> None:
        del after
        self.operations = operations
        fake_sonic.patch(self.config, copy.deepcopy(operations))


def deployed(config: Config, **options: Any) -> Memory:
    """The switch after deploying to all its ports; its other queues are taken where none is free."""
    for take in (False, True):
        switch = Memory(config)
        try:
            SonicTarget(switch, MARKED, tuple(config["PORT"]), take=take, **options).apply(replace=take)
        except NoRoomError:
            continue
        return switch
    raise AssertionError("no room")


def asked(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The updater's answer to each configuration and patch."""
    jobs_text = json.dumps({"models": os.environ["SONIC_YANG_MODELS"], "jobs": jobs})
    command = [os.environ["OFFRAMP_SONIC_PYTHON"], "-P", sonic_updater.__file__]
    done = subprocess.run(command, input=jobs_text, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(configs: dict[str, Config], **options: Any) -> set[str]:
    """Each configuration that the models accept takes the patch, and both ways back restore it; returns the others."""
    switches = {name: deployed(config, **options) for name, config in configs.items()}
    jobs = [
        {"config": config, "patch": switches[name].operations, "undo": diff(switches[name].config, config)}
        for name, config in configs.items()
    ]
    answers = dict(zip(configs, asked(jobs), strict=True))
    refused = {name for name, answer in answers.items() if "refused" in answer}
    expected = {
        name: {"applied": switches[name].config, "rollback": config, "undone": config}
        for name, config in configs.items()
        if name not in refused
    }
    assert {name: answer for name, answer in answers.items() if name not in refused} == expected
    return refused


@pytest.mark.parametrize("options", [{}, {"limits": LIMITS}], ids=["plain", "limits"])
def test_applied_and_rolled_back_to_the_identical_configuration(options: dict[str, Any]) -> None:
    assert check(sonic_configs.every(), **options) == OLD | BROKEN


def test_the_updater_does_look() -> None:
    config = sonic_configs.default()
    patch = [{"op": "add", "path": "/SCHEDULER/HERMOD_7", "value": {"type": "SOME", "weight": "1"}}]
    (answer,) = asked([{"config": config, "patch": patch, "undo": []}])
    assert "SOME" in answer["error"]


@pytest.mark.skipif("OFFRAMP_SONIC_CONFIGS" not in os.environ, reason="OFFRAMP_SONIC_CONFIGS names no configurations")
def test_configurations_of_others() -> None:
    configs = json.loads(Path(os.environ["OFFRAMP_SONIC_CONFIGS"]).read_text(encoding="utf-8"))
    assert not check(configs)
