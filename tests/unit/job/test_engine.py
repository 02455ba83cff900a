# SPDX-License-Identifier: Apache-2.0
"""Engines without their programs: what they start, what a batch script does, and what they make of answers.

Programs first in PATH write down what they are given, and answer as the real ones do; blind to what the real ones
do with it, which ``tests/cluster`` shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from offramp.job import engine as engine_module
from offramp.job.engine import ENGINES, BatchSubmission, RankStart, parse_on
from offramp.job.engines import slurm as slurm_module
from offramp.job.engines.slurm import LOG, SlurmEngine, script
from offramp.job.kind import PlacedJob
from offramp.job.ranks import RankProcesses
from offramp.job.run import JobRunResult, run_job
from offramp.job.run_file import read_run, save_run
from offramp.job.settings import JobSettings
from offramp_base.errors import OfframpError


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes a program that is first in PATH, a script for sh; ``$log`` is the file that it returns."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def make(name: str, text: str) -> Path:
        log = tmp_path / f"{name}.log"
        (folder / name).write_text(f'#!/bin/sh\nlog="{log}"\n{text}\n')
        (folder / name).chmod(0o755)
        return log

    return make


def start_of(cluster, folder, command=("true",)) -> RankStart:
    ranks = RankProcesses(JobSettings(command=command), cluster, cluster.hosts, None, folder)
    return ranks._placed()


@pytest.mark.each
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cluster.yaml", ("hosts", "cluster.yaml")),
        ("lab:racks", ("hosts", "lab:racks")),
        ("slurm:lab:racks", ("slurm", "lab:racks")),
        ("mpi:a/b.yaml", ("mpi", "a/b.yaml")),
        ("./ssh:x", ("hosts", "./ssh:x")),
    ],
)
def test_an_engine_is_the_word_before_the_cluster(text, expected):
    assert parse_on(text) == expected


@pytest.mark.parametrize("text", ["ssh", "slurm:"])
def test_an_engine_needs_a_cluster(text):
    with pytest.raises(OfframpError, match=r"expected (ssh|slurm):CLUSTER-FILE"):
        parse_on(text)


def test_a_rank_by_ssh_ends_with_its_connection_and_runs_where_the_command_does(racks, tmp_path):
    engine = ENGINES.get("ssh")()
    cluster = engine.reached(racks)
    commands = engine.commands(start_of(cluster, tmp_path))
    assert [each.ranks for each in commands] == [range(n, n + 1) for n in range(4)]
    for rank, command in enumerate(commands):
        assert command.held
        assert command.words[0] == "ssh"
        assert "RequestTTY=no" in command.words
        assert f"RANK={rank} " in command.words[-1]
        assert "run_rank --while-connected" in command.words[-1]
        assert str(Path.cwd()) in command.words[-1]


def test_mpirun_reaches_hosts_as_the_file_says_and_tells_ranks_their_places(racks, tmp_path, program):
    """A remote shell of the job's own: an ssh that writes down its arguments gets the command in one word."""
    log = program("ssh", 'for word; do printf "%s\\n" "$word"; done >> "$log"')
    engine = ENGINES.get("mpi")()
    (command,) = engine.commands(start_of(ENGINES.get("ssh")().reached(racks), tmp_path))
    words = list(command.words)
    assert words[:3] == ["mpirun", "--host", ",".join(f"{host.where}:1" for host in racks.hosts)]
    assert command.ranks == range(4)
    assert not any(word.startswith(("RANK=", "WORLD_SIZE=")) for word in words)
    shell = words[words.index("plm_rsh_agent") + 1]
    subprocess.run([shell, racks.hosts[1].where, "orted", "-mca", "a b"], check=True)
    said = log.read_text().splitlines()
    assert said[-3:] == ["--", racks.hosts[1].where, "orted -mca a b"]
    done = subprocess.run([shell, "elsewhere", "orted"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "elsewhere: not a host of this job\n")


MPIRUN = """
while [ "$1" != env ]; do shift; done
for rank in 0 1 2 3; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=$rank OMPI_COMM_WORLD_LOCAL_SIZE=4 \\
        "$@" || { echo "  Process name: [[62021,1],$rank]"; exit 3; }
done
"""


def test_a_launcher_of_all_ranks_and_the_one_that_fails(racks, tmp_path, program):
    program("mpirun", MPIRUN)
    engine = ENGINES.get("mpi")()
    cluster = ENGINES.get("local")().reached(racks)
    text = 'echo "$RANK of $WORLD_SIZE, $LOCAL_RANK, $MASTER_ADDR:$MASTER_PORT $A"; test $RANK -lt 2 || exit 3'
    job = JobSettings(command=("sh", "-c", text), environment=("A=b c",), port=29123)
    ranks = RankProcesses(job, cluster, cluster.hosts, None, tmp_path, engine=engine)
    ranks.start()
    with pytest.raises(
        OfframpError, match=r"^job job: rank 2 on h3 ended with exit code 3: 2 of 4, 2, 127.0.0.1:29123"
    ):
        ranks.wait()
    assert (tmp_path / "rank-1.log").read_text() == "1 of 4, 1, 127.0.0.1:29123 b c\n"
    assert not (tmp_path / "rank-3.log").exists()


def test_srun_has_one_step_with_the_hosts_in_our_order(racks, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    engine = ENGINES.get("srun")()
    cluster = replace(racks, hosts=racks.hosts[::-1])
    (command,) = engine.commands(start_of(engine.reached(cluster), tmp_path))
    assert (tmp_path / "hosts").read_text() == "h4\nh3\nh2\nh1\n"
    assert f"--nodelist={tmp_path}/hosts" in command.words
    assert (engine.earlier, engine.failed_rank("srun: error: h2: tasks 1-3: Exited with exit code 2")) == (2, 1)
    assert engine.failed_rank("srun: error: Node failure on h3") is None


def test_programs_that_are_missing_are_named_before_anything_is_touched(racks, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    job = JobSettings(command=("true",))
    with pytest.raises(OfframpError, match=r"^engine mpi: no mpirun on PATH$"):
        run_job(job, racks, "gloo", tmp_path, engine=ENGINES.get("mpi")())
    with pytest.raises(OfframpError, match=r"^engine slurm: no sbatch and no scontrol and no scancel on PATH$"):
        ENGINES.get("slurm")().check()


def test_a_launcher_of_all_ranks_does_not_take_jobs_with_servers(racks, tmp_path, program):
    program("mpirun", "exit 0")
    (tmp_path / "leo.yaml").write_text("names: [kvs]\nrequests: 5\n")
    job = JobSettings(leo=tmp_path / "leo.yaml", hosts="h[1-2]")
    with pytest.raises(OfframpError, match="engine mpi: starts all ranks together, of which leo has to end some"):
        run_job(job, racks, "one-path", tmp_path, engine=ENGINES.get("mpi")())


def submission(folder: Path, on: str = "cluster.yaml") -> BatchSubmission:
    return BatchSubmission(
        folder / "job.yaml", on, "allreduce", ["gloo: a step 1 s; slower", "allreduce: 2\nline"], folder
    )


def test_the_script_is_one_that_a_person_would_have_written(racks, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm_module, "same_python", lambda: "/opt/offramp/bin")
    monkeypatch.chdir(tmp_path)
    job = JobSettings(name="two sums", command=("true",), restarts=2, slurm=("--partition=gpu", "--time=1:00:00"))
    text = script(PlacedJob.on(job, racks), submission(tmp_path))
    assert text.replace(str(tmp_path), "/home/me") == Path(__file__).with_name("job.sbatch").read_text()


HOSTILE = 'it\'s $(touch x); `y` "z"'


def test_the_script_takes_names_as_they_are_and_requeues_failures_alone(racks, tmp_path, monkeypatch, program):
    folder = tmp_path / HOSTILE
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(slurm_module, "same_python", lambda: str(tmp_path / "bin"))
    log = program("offramp", 'for word; do printf "%s\\n" "$word"; done >> "$log"; test "$2" = undo || exit 3')
    requeued = program("scontrol", 'echo "$@" >> "$log"')
    job = JobSettings(command=("true",), restarts=2)
    (folder / "s").write_text(script(PlacedJob.on(job, racks), submission(folder, "lab:it's")))
    for count, expected in (("0", 1), ("1", 2), ("2", 2)):
        environment = os.environ | {"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": count}
        assert subprocess.run(["bash", "s"], env=environment, check=False).returncode == 3
        assert requeued.read_text() == "requeue 7\n" * expected
    said = log.read_text().splitlines()
    assert said[:5] == ["job", "run", str(folder / "job.yaml"), "--on", "srun:lab:it's"]
    assert said[5:10] == ["--by", "allreduce", "--no-calibrate", "--out", str(folder)]
    assert said[10:14] == ["job", "undo", "--on", "lab:it's"]
    assert sorted(path.name for path in folder.iterdir()) == ["s"]


SCONTROL = """
count=$(cat "$log" 2>/dev/null || echo 0)
echo $((count + 1)) > "$log"
case $count in
0) echo "JobId=7 JobName=a JobState=PENDING Reason=Resources Restarts=0" ;;
1) echo "JobId=7 JobName=a JobState=RUNNING Reason=None Restarts=0 NodeList=h[1-4]" ;;
2) echo "JobId=7 JobName=a JobState=PENDING Reason=BeginTime Restarts=1" ;;
*) echo "JobId=7 JobName=a JobState=$STATE Reason=None Restarts=1 NodeList=h[1-4] RunTime=00:01:02 ExitCode=0:0" ;;
esac
"""


@pytest.mark.parametrize("state", ["COMPLETED", "TIMEOUT"])
def test_a_job_is_followed_to_its_end(racks, tmp_path, monkeypatch, program, state):
    program("sbatch", 'cat "$2" > "$log"; echo 7')
    program("scontrol", SCONTROL)
    cancelled = program("scancel", 'echo "$@" > "$log"')
    program("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    monkeypatch.setenv("STATE", state)
    notes: list[tuple[str, str]] = []
    placed = PlacedJob.on(JobSettings(command=("true",)), racks)

    def run() -> dict:
        return SlurmEngine(poll_s=0.0).run(placed, submission(tmp_path), lambda what, name: notes.append((what, name)))

    if state == "COMPLETED":
        account = run()
        assert (account["job"], account["restarts"], account["nodes"]) == (7, 1, "h[1-4]")
        assert account["run_time"] == "00:01:02"
    else:
        with pytest.raises(OfframpError, match=r"^job job: Slurm job 7 is TIMEOUT$"):
            run()
    assert [name for what, name in notes if what == "restart"] == ["Slurm job 7 was requeued"]
    assert (tmp_path / "sbatch.log").read_text().startswith("#!/bin/bash\n#SBATCH --job-name=job\n")
    assert not cancelled.exists()


def test_a_job_that_nobody_waits_for_is_cancelled(racks, tmp_path, program):
    program("sbatch", "echo '7;there'")
    program("scontrol", 'echo "JobState=RUNNING Restarts=0"')
    cancelled = program("scancel", 'echo "$@" > "$log"')

    def note(what: str, _name: str) -> None:
        if what == "state":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SlurmEngine().run(PlacedJob.on(JobSettings(command=("true",)), racks), submission(tmp_path), note)
    assert cancelled.read_text() == "7\n"


def test_a_refused_job_says_why_in_a_line(racks, tmp_path, program):
    program("sbatch", "echo 'sbatch: error: invalid partition\nspecified: x' >&2; exit 1")
    (tmp_path / LOG).write_text("of an earlier job")
    with pytest.raises(OfframpError, match=r"^sbatch: sbatch: error: invalid partition specified: x$"):
        SlurmEngine().run(PlacedJob.on(JobSettings(command=("true",)), racks), submission(tmp_path), lambda *_: None)


@pytest.mark.parametrize("option", ["-p gpu", "--wrap=a b", "--x;y", "partition", "--comment=\n#SBATCH"])
def test_options_of_sbatch_are_words(tmp_path, option):
    (tmp_path / "job.yaml").write_text(f"command: ['true']\nslurm: [--time=1:00:00, {json.dumps(option)}]\n")
    with pytest.raises(OfframpError, match=r"job\.yaml:2: slurm.*expected an option of sbatch"):
        JobSettings.read(tmp_path / "job.yaml")


def test_a_run_reads_back_from_its_file(racks, tmp_path):
    link = racks.links[0]
    run = JobRunResult(1.5, 2, {"h1": (3, 4)}, ["start 4 ranks"], {link: (3, 4)}, 12345, 0.5, "no room")
    save_run(run, tmp_path)
    assert read_run(tmp_path, racks) == run
    (tmp_path / "run.json").write_text(json.dumps({"seconds": 1}))
    with pytest.raises(OfframpError, match="expected the result of a run"):
        read_run(tmp_path, racks)


def test_the_python_of_a_script_is_this_installations():
    assert Path(engine_module.same_python(), Path(sys.executable).name).exists()
