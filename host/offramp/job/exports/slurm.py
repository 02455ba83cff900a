# SPDX-License-Identifier: Apache-2.0
"""A script for sbatch, the same that the engine ``slurm`` submits."""

from __future__ import annotations

from offramp.job.engines.slurm import script
from offramp.job.export import JOB_FORMATS, JobExport


@JOB_FORMATS.register("slurm")
def slurm(given: JobExport) -> str:
    """A script for sbatch."""
    return script(given.placed, given.submission)
