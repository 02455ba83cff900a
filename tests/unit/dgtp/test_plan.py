# SPDX-License-Identifier: Apache-2.0
"""Exported plans: ranks, roles, and scripts that torchrun really starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from offramp.dgtp import make_plan, my_role, read_plan
from offramp.dgtp.colocation import max_colocated
from offramp.dgtp.launch import export
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.setups import make_setup


@pytest.fixture
def exported(tmp_path):
    setup = make_setup("testbed-products-ps")
    machine = max_colocated(setup.problem, 0)
    plan = make_plan(setup.problem, machine, {"makespan_s": 1.0})
    export(plan, tmp_path / "plan")
    return setup.problem, machine, plan, tmp_path / "plan"


def test_every_task_has_a_rank_on_its_machine(exported):
    problem, machine, plan, folder = exported
    tasks = problem.graph.tasks
    assert [role.rank for role in plan.roles] == list(range(len(tasks)))
    names = {f"{role.kind} {role.index}": role for role in plan.roles}
    for task, at in zip(tasks, machine, strict=True):
        assert names[task.name].machine == problem.cluster.machines[at].name
    for host in problem.cluster.machines:
        here = [role for role in plan.roles if role.machine == host.name]
        assert [role.local_rank for role in here] == list(range(len(here)))
        ranks = [role.rank for role in here]
        assert ranks == list(range(ranks[0], ranks[0] + len(ranks)))
        gpus = [role.gpu for role in here if role.gpu is not None]
        assert gpus == list(range(len(gpus)))
        assert len(gpus) <= host.capacity["gpu"]
    assert {plan.roles[r].kind for r in names["sampler 3"].feeds} == {"worker"}
    assert read_plan(folder / "plan.json") == plan
    hosts = (folder / "slurm.hosts").read_text().split()
    assert hosts == [role.machine for role in plan.roles]
    for script in folder.glob("*.s*"):
        if script.suffix in {".sh", ".sbatch"}:
            assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert f"--ntasks={len(tasks)}" in (folder / "slurm.sbatch").read_text()


def test_roles_come_from_the_environment(exported):
    _, _, plan, folder = exported
    here = {"OFFRAMP_PLAN": str(folder / "plan.json")}
    assert my_role(here | {"RANK": "4"}) == my_role(here | {"SLURM_PROCID": "4"}) == plan.roles[4]
    with pytest.raises(OfframpError, match="RANK 23: the plan has ranks 0 to 22"):
        my_role(here | {"RANK": "23"})
    with pytest.raises(OfframpError, match="OFFRAMP_PLAN and RANK: expected in the environment"):
        my_role({"RANK": "1"})
    with pytest.raises(OfframpError, match=r"none\.json: cannot be read: No such file"):
        read_plan(folder / "none.json")
    (folder / "plan.json").write_text("{}")
    with pytest.raises(OfframpError, match="expected a plan of format offramp-placement-1, found None"):
        read_plan(folder / "plan.json")


@pytest.mark.slow
def test_torchrun_gives_each_process_its_role(exported, tmp_path):
    """Four launchers with different numbers of processes, on the loopback interface."""
    pytest.importorskip("torch")
    _, _, plan, folder = exported
    script = tmp_path / "job.py"
    script.write_text(
        "import json, os, sys\nfrom offramp.dgtp import my_role\nrole = my_role()\n"
        "open(f'{sys.argv[1]}/{role.rank}', 'w').write(json.dumps([role.kind, role.index, role.machine,"
        " os.environ['LOCAL_RANK'], os.environ['WORLD_SIZE']]))\n"
    )
    out = tmp_path / "out"
    out.mkdir()
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "torchrun").write_text(f'#!/bin/sh\nexec {sys.executable} -m torch.distributed.run "$@"\n')
    (tools / "torchrun").chmod(0o755)
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    root = Path(__file__).parents[3]
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": f"{root}/host:{root}/base:{os.environ.get('PYTHONPATH', '')}",
        "OMP_NUM_THREADS": "1",
    }
    starters = [
        subprocess.Popen(["bash", each, script, out], env=environment, stderr=subprocess.PIPE)
        for each in sorted(folder.glob("torchrun-*.sh"))
    ]
    for starter in starters:
        _, errors = starter.communicate(timeout=200)
        assert starter.returncode == 0, errors.decode()
    for role in plan.roles:
        seen = json.loads((out / str(role.rank)).read_text())
        assert seen == [role.kind, role.index, role.machine, str(role.local_rank), str(len(plan.roles))]


def test_folders_that_cannot_be_written(exported, tmp_path):
    _, _, plan, _ = exported
    (tmp_path / "file").write_text("")
    with pytest.raises(OfframpError, match=r"export .*file: cannot be written"):
        export(plan, tmp_path / "file")
