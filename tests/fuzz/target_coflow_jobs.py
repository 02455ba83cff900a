# SPDX-License-Identifier: Apache-2.0
"""Hermod's jobs, queue plans and matrices, and the configurations that deployments read."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from fuzzing import mutate, render
from offramp.hermod.deploy.sonic.device import config_of
from offramp.hermod.job_file import load_job
from offramp.hermod.matching import check_matrix
from offramp.hermod.plan_file import plan_document, plan_from, read_plan
from offramp_cli.hermod.match import _read as read_matrix

NAME = "Hermod's jobs, plans and matrices"
_JOB = {"model": "mixtral-8x22b", "gpus": 1024, "micro_batches": 16, "pp": 8, "tp": 8}
_OWN = {"name": "m", "layers": 4, "hidden": 64, "heads": 4, "vocabulary": 100, "ffn": 256, "gpus": 8, "pp": 2, "tp": 2}
_ROW = {"code": 0, "dscp": 8, "queue": 1, "micro_batches": [0], "types": ["DP"], "layers": []}
_PLAN: dict[str, Any] = {
    "job": {"model": "m"},
    "queues": 2,
    "classes": 1,
    "control": [48],
    "priorities": [_ROW],
    "dscp_to_queue": [int(dscp == 8) for dscp in range(64)],
}
_CONFIG = {"QUEUE": {"Ethernet0|0": {"scheduler": "x"}}, "DSCP_TO_TC_MAP": {"AZURE": {"0": "1"}}}


def run(rng: random.Random) -> None:
    """One file of one kind."""
    kind = rng.randrange(5)
    if kind == 0:
        load_job(str(render.write(Path("job.toml"), render.document(rng, rng.choice((_JOB, _OWN)), "toml"))))
    elif kind == 1:
        text = "\n".join(f"{name}: {value}" for name, value in rng.choice((_JOB, _OWN)).items())
        content = mutate.text(rng, text).encode("utf-8", "surrogatepass")
        load_job(str(render.write(Path("job.yaml"), content)))
    elif kind == 2:
        plan = read_plan(render.write(Path("plan.json"), render.document(rng, _PLAN, "json")))
        assert plan_from(plan_document(plan)) == plan
    elif kind == 3:
        config_of(render.document(rng, _CONFIG, "json").decode("utf-8", "replace"), "config_db.json")
    else:
        matrix = [[0, 5, 1], [2, 0, 3], [1, 1, 0]]
        if rng.random() < 0.5:
            path = render.write(Path("m.json"), render.document(rng, {"m": matrix}, "json")[5:-1])
        else:
            text = "\n".join(", ".join(map(str, row)) for row in matrix)
            path = render.write(Path("m.txt"), mutate.text(rng, text).encode("utf-8", "surrogatepass"))
        check_matrix(read_matrix(path))
