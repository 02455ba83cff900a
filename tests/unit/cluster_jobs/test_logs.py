# SPDX-License-Identifier: Apache-2.0
"""Logs of public GPU clusters, in small files of their formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_sim.cluster.logs import _PAI_TASKS, PROFILES, read_log

PHILLY = json.dumps(
    [
        {
            "status": "Pass",
            "vc": "v",
            "jobid": "application_1",
            "attempts": [
                {
                    "start_time": "2017-10-07 01:10:00",
                    "end_time": "2017-10-07 01:20:00",
                    "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}],
                }
            ],
            "submitted_time": "2017-10-07 01:05:00",
            "user": "u",
        },
        {"status": "Killed", "vc": "v", "jobid": "b", "attempts": [], "submitted_time": "2017-10-07 02:00:00"},
        {
            "jobid": "c",
            "attempts": [{"start_time": "2017-10-07 01:00:00", "end_time": None, "detail": []}],
            "submitted_time": "2017-10-07 00:00:00",
        },
    ]
)
HELIOS = """job_id,user,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,u1,8,64,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 00:10:20,600,10
8,u1,0,4,1,COMPLETED,2020-04-01 00:00:11,2020-04-01 00:00:12,2020-04-01 00:00:13,1,1
9,u2,16,64,2,FAILED,2020-04-01 00:01:10,2020-04-01 00:01:20,2020-04-01 00:11:20,300,10
"""
PAI = "aaa,worker,2,Terminated,100.0,400.0,600.0,30.0,150.0,V100\nbbb,tf,1,Running,90.0,,600.0,30.0,100.0,P100\n"
OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p1,8000,100,4,1000,,LS,Running,50,350,60
p2,8000,100,0,0,,LS,Running,51,350,60
p3,8000,100,1,500,,LS,Pending,52,,
"""


@pytest.mark.parametrize(
    ("text", "jobs"),
    [
        (PHILLY, [(4, 0.0, 600)]),
        (HELIOS, [(8, 0.0, 600), (16, 60.0, 300)]),
        (PAI, [(3, 0.0, 300)]),
        (OPENB, [(4, 0.0, 290)]),
    ],
    ids=["philly", "helios", "pai", "openb"],
)
def test_jobs_have_the_logs_gpus_and_times(tmp_path: Path, text: str, jobs: list[tuple[int, float, float]]) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    log = read_log(path)
    read = log.jobs
    assert log.left_out == {PHILLY: 2, HELIOS: 1, PAI: 1, OPENB: 2}[text]
    assert [(job.gpus, job.arrival_s) for job in read] == [(gpus, arrival) for gpus, arrival, _ in jobs]
    for job, (_, _, seconds) in zip(read, jobs, strict=True):
        assert job.iterations * job.compute_s == pytest.approx(seconds, abs=job.compute_s)
        assert job.all_reduce in {profile.all_reduce for profile in PROFILES}


def test_the_seed_decides_what_jobs_are(tmp_path: Path) -> None:
    path = tmp_path / "log"
    head, row = HELIOS.splitlines()[:2]
    path.write_text("\n".join([head, *([row] * 50)]))
    of = {seed: [job.all_reduce for job in read_log(path, seed).jobs] for seed in (0, 0, 1)}
    assert of[0] != of[1]
    assert len(read_log(path, most=3).jobs) == 3


@pytest.mark.parametrize("unknown", ["", "None", "NULL", "nan", " - "])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        (PHILLY, "2017-10-07 01:20:00"),
        (HELIOS, "2020-04-01 00:00:10"),
        (HELIOS, "600"),
        (f"{','.join(_PAI_TASKS)}\n{PAI}", "400.0"),
        (OPENB, "350"),
    ],
)
def test_what_nobody_knows_leaves_its_row_out(tmp_path: Path, text: str, value: str, unknown: str) -> None:
    """Public logs write it in many ways; the other jobs count."""
    path = tmp_path / "log"
    path.write_text(text)
    before = read_log(path)
    if text is PHILLY:
        again = json.dumps([*json.loads(text), json.loads(text)[0]])
        value, unknown = json.dumps(value), json.dumps(unknown)
    else:
        again = text + text.splitlines()[1] + "\n"
    path.write_text(again.replace(value, unknown, 1))
    log = read_log(path)
    assert (len(log.jobs), log.left_out) == (len(before.jobs), before.left_out + 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hello", "expected a log of Philly"),
        ("[{]", "log: "),
        ('[{"jobid": 1}]', "job 0: attempts is missing"),
        (HELIOS.replace(",8,64", ",x,64"), "line 2: gpu_num x: expected a number"),
        (HELIOS.splitlines()[0] + "\n", "no job that had GPUs"),
        (HELIOS.splitlines()[0] + "\n7,u,8,1,1,C,nan,0,0,inf,10\n", "no job that had GPUs"),
        (HELIOS.splitlines()[0] + "\n" + "x" * 200_000, "field larger"),
        ("[" * 100_000, "log: "),
    ],
)
def test_a_file_that_is_none_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(OfframpError, match=problem) as refused:
        read_log(path)
    assert "\n" not in str(refused.value)
