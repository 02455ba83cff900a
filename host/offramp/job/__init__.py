# SPDX-License-Identifier: Apache-2.0
"""One job on a cluster: what to offload, putting it there, running it, taking it away again (docs/jobs.md).

>>> from offramp.job import JobSettings
>>> job = JobSettings(name="sums", command=("python", "train.py"), all_reduce=16_000_000, compute_s=0.05)
>>> job.communicates
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.job.counters import link_bytes as link_bytes
    from offramp.job.counters import since as since
    from offramp.job.planner import JobPlan as JobPlan
    from offramp.job.planner import make_job_plan as make_job_plan
    from offramp.job.run import run_job as run_job
    from offramp.job.settings import JobSettings as JobSettings
    from offramp.job.steps import step as step
    from offramp.job.steps import tell_progress as tell_progress
    from offramp.job.watch import look as look
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "JobPlan": "offramp.job.planner",
            "JobSettings": "offramp.job.settings",
            "link_bytes": "offramp.job.counters",
            "look": "offramp.job.watch",
            "make_job_plan": "offramp.job.planner",
            "run_job": "offramp.job.run",
            "since": "offramp.job.counters",
            "step": "offramp.job.steps",
            "tell_progress": "offramp.job.steps",
        },
    )
