# SPDX-License-Identifier: Apache-2.0
"""Places that torchrun, srun and mpirun give a process, in environments that we make.

Blind to launchers that set others; ``tests/cluster`` runs the real ones.
"""

from __future__ import annotations

import pytest

from offramp.workers.launch import open_launcher
from offramp.workers.place import LaunchedRank, find_place, leads, ranks_here
from offramp.workers.run_rank import set_place
from offramp_base.errors import OfframpError

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}
SRUN = {
    "SLURM_PROCID": "2",
    "SLURM_NTASKS": "4",
    "SLURM_NODELIST": "node[03-04],login1",
    "SLURM_JOB_ID": "1234567",
    "SLURM_STEP_ID": "0",
}
MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "6",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "3",
    "OMPI_MCA_ess_base_jobid": "1234567",
    "MASTER_ADDR": "10.0.0.1",
}


def without(environment: dict[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in names}


def test_torchrun() -> None:
    assert find_place(TORCHRUN) == LaunchedRank(1, 4, 2, "env://", "torchrun started WORLD_SIZE=4")
    assert find_place(without(TORCHRUN, "LOCAL_WORLD_SIZE")) == LaunchedRank(
        1, 4, 4, "env://", "torchrun started WORLD_SIZE=4"
    )


def test_srun() -> None:
    expected = LaunchedRank(2, 4, 4, "tcp://node03:24567", "srun started SLURM_NTASKS=4")
    assert find_place(SRUN) == expected
    assert find_place(SRUN | {"SLURM_NTASKS_PER_NODE": "2"}) == LaunchedRank(
        2, 4, 2, expected.rendezvous, expected.started
    )


def test_mpirun() -> None:
    expected = LaunchedRank(5, 6, 3, "tcp://10.0.0.1:24567", "mpirun started OMPI_COMM_WORLD_SIZE=6", 1)
    assert find_place(MPIRUN) == expected
    assert find_place(SRUN | MPIRUN) == expected  # mpirun in an allocation of Slurm's
    alone = find_place(without(MPIRUN, "MASTER_ADDR") | {"OMPI_COMM_WORLD_LOCAL_SIZE": "6"})
    assert alone is not None
    assert alone.rendezvous == "tcp://127.0.0.1:24567"


@pytest.mark.parametrize(
    ("node", "tasks", "here"), [("0", "2(x3),1", 2), ("2", "2(x3),1", 2), ("3", "2(x3),1", 1), ("1", "1,3", 3)]
)
def test_a_step_lists_its_tasks_by_node(node: str, tasks: str, here: int) -> None:
    step = {"SLURM_STEP_TASKS_PER_NODE": tasks, "SLURM_NODEID": node, "SLURM_LOCALID": "1"}
    place = find_place(SRUN | step | {"SLURM_STEP_NODELIST": "n[7-9]"})
    assert place is not None
    assert (place.on_machine, place.local, place.rendezvous) == (here, 1, "tcp://n7:24567")


def test_torchruns_variables_for_any_launcher() -> None:
    for launcher in (MPIRUN, SRUN | {"SLURM_LOCALID": "1", "SLURM_NTASKS_PER_NODE": "2"}):
        environment = dict(launcher)
        set_place(environment)
        before, after = find_place(launcher), find_place(environment)
        assert before is not None
        assert after is not None
        assert (after.rank, after.size, after.local) == (before.rank, before.size, before.local)
        assert (after.on_machine, after.rendezvous) == (before.on_machine, "env://")
        assert (environment["MASTER_ADDR"], environment["MASTER_PORT"]) == (before.host(launcher), "24567")
    environment = dict(TORCHRUN)
    set_place(environment)
    assert environment == TORCHRUN


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("localhost", "localhost"),
        ("n1,n2", "n1"),
        ("rack-2.example.org", "rack-2.example.org"),
        ("n[1,5-9]", "n1"),
        ("n[007-010]-ib,m", "n007-ib"),
    ],
)
def test_rank_0_is_on_the_first_node(nodes: str, first: str) -> None:
    place = find_place(SRUN | {"SLURM_NODELIST": nodes})
    assert place is not None
    assert place.rendezvous == f"tcp://{first}:24567"


def test_an_address_may_be_given() -> None:
    place = find_place(SRUN | {"MASTER_ADDR": "fd00::1", "MASTER_PORT": "5000"})
    assert place is not None
    assert place.rendezvous == "tcp://[fd00::1]:5000"


def test_torchrun_inside_srun_is_torchrun() -> None:
    assert find_place(SRUN | TORCHRUN) == find_place(TORCHRUN)


def test_nobody_started_it() -> None:
    assert find_place({}) is None
    assert find_place(without(SRUN, "SLURM_PROCID", "SLURM_STEP_ID")) is None  # a shell of salloc
    assert find_place(without(SRUN, "SLURM_STEP_ID") | {"ENVIRONMENT": "BATCH"}) is None  # a script of sbatch
    assert find_place(SRUN | {"ENVIRONMENT": "BATCH"}) is not None  # srun in such a script


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (without(TORCHRUN, "RANK"), "RANK: not set, which torchrun sets for each process that it starts"),
        (without(TORCHRUN, "WORLD_SIZE"), "WORLD_SIZE: not set, which torchrun sets for each process that it starts"),
        (without(TORCHRUN, "MASTER_ADDR"), "MASTER_ADDR: not set, which torchrun sets for each process that it starts"),
        (without(TORCHRUN, "MASTER_PORT"), "MASTER_PORT: not set, which torchrun sets for each process that it starts"),
        (TORCHRUN | {"RANK": ""}, "RANK: not set, which torchrun sets for each process that it starts"),
        (TORCHRUN | {"RANK": "-1"}, "RANK -1: expected 0 to 3, as torchrun sets it"),
        (TORCHRUN | {"RANK": "4"}, "RANK 4: expected 0 to 3, as torchrun sets it"),
        (TORCHRUN | {"WORLD_SIZE": "0"}, "WORLD_SIZE 0: expected at least 1, as torchrun sets it"),
        (TORCHRUN | {"WORLD_SIZE": "four"}, "WORLD_SIZE four: expected at least 1, as torchrun sets it"),
        (TORCHRUN | {"LOCAL_WORLD_SIZE": "5"}, "LOCAL_WORLD_SIZE 5: expected 1 to 4, as torchrun sets it"),
        (TORCHRUN | {"MASTER_PORT": "70000"}, "MASTER_PORT 70000: expected 1 to 65535, as torchrun sets it"),
        (TORCHRUN | {"MASTER_ADDR": "a b"}, "MASTER_ADDR a b: expected a host name or an address, as torchrun sets it"),
        (without(SRUN, "SLURM_NTASKS"), "SLURM_NTASKS: not set, which srun sets for each process that it starts"),
        (without(SRUN, "SLURM_NODELIST"), "SLURM_NODELIST: not set, which srun sets for each process that it starts"),
        (
            without(MPIRUN, "MASTER_ADDR"),
            "MASTER_ADDR: not set: mpirun -x MASTER_ADDR=HOST says where rank 0 is",
        ),
        (
            MPIRUN | {"OMPI_COMM_WORLD_RANK": "6"},
            "OMPI_COMM_WORLD_RANK 6: expected 0 to 5, as mpirun sets it",
        ),
        (
            SRUN | {"SLURM_STEP_TASKS_PER_NODE": "1(x2)", "SLURM_NODEID": "2"},
            "SLURM_STEP_TASKS_PER_NODE 1(x2): expected a number for each node, as srun sets it",
        ),
        (
            SRUN | {"SLURM_STEP_TASKS_PER_NODE": "1(x", "SLURM_NODEID": "0"},
            "SLURM_STEP_TASKS_PER_NODE 1(x: expected numbers of tasks such as 2(x3),1, as srun sets it",
        ),
        (SRUN | {"SLURM_PROCID": "9"}, "SLURM_PROCID 9: expected 0 to 3, as srun sets it"),
        (SRUN | {"SLURM_JOB_ID": "x"}, "SLURM_JOB_ID x: expected at least 0, as srun sets it"),
        (
            SRUN | {"SLURM_NODELIST": "n[1"},
            "SLURM_NODELIST n[1: expected host names such as node[1-4], as srun sets it",
        ),
        (
            SRUN | {"SLURM_NODELIST": "a/b"},
            "SLURM_NODELIST a/b: expected host names such as node[1-4], as srun sets it",
        ),
    ],
)
def test_a_bad_environment_is_refused_by_its_variable(environment: dict[str, str], message: str) -> None:
    with pytest.raises(OfframpError) as error:
        find_place(environment)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("environment", "started"), [(TORCHRUN, "torchrun started WORLD_SIZE=4"), (SRUN, "srun started SLURM_NTASKS=4")]
)
def test_another_number_of_processes_is_refused_before_they_meet(
    environment: dict[str, str], started: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert not leads()
    with (
        pytest.raises(OfframpError, match=rf"^stages 2: needs 2 processes, {started}$"),
        open_launcher(2, field="stages"),
    ):
        pass


def test_memory_is_shared_by_the_ranks_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert leads()
    assert ranks_here(8) == 8
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    assert ranks_here(4) == 2
