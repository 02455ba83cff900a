# SPDX-License-Identifier: Apache-2.0
"""A cluster file, a job file, and the plan: who should carry out the sums of a program, and why not the others?

The program itself runs on a laboratory of the same cluster: ``offramp lab up job/cluster.yaml``, then
``offramp job run job/job.yaml --on lab`` (docs/jobs.md). ``offramp job plan`` prints this table.

    4 hosts, 3 switches
    allreduce … ms
    gloo 1200.0 ms
    hermod 1200.0 ms
    taken: allreduce
"""

from pathlib import Path

from offramp.cluster import read_cluster
from offramp.job import JobSettings, make_job_plan

FOLDER = Path(__file__).with_name("job")


def main() -> None:
    """By the models alone; with a cluster that is there, a calibration corrects them."""
    cluster = read_cluster(FOLDER / "cluster.yaml")
    print(f"{len(cluster.hosts)} hosts, {len(cluster.switches)} switches")
    plan = make_job_plan(JobSettings.read(FOLDER / "job.yaml"), cluster)
    for choice in sorted(plan.choices, key=lambda each: str(each.way)):
        if choice.step_s is not None:
            print(f"{choice.way} {choice.step_s * 1e3:.1f} ms")
    print("taken:", plan.taken.way)


if __name__ == "__main__":
    main()
