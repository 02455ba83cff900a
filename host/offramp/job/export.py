# SPDX-License-Identifier: Apache-2.0
"""A job with its plan as a file that another program runs: a script for sbatch, or a manifest for Kubernetes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from offramp.job.engine import BatchSubmission
from offramp.job.kind import JobKind, PlacedJob
from offramp_base.registry import Registry


@dataclass(frozen=True)
class JobExport:
    """What is exported.

    Attributes:
        kind, placed: the job's kind, and the job on its cluster.
        submission: its file, way and plan.
        image: image of containers, where ranks run in some.
        claim: name of a volume claim for checkpoints and results; None: they end with their pods.
    """

    kind: JobKind
    placed: PlacedJob
    submission: BatchSubmission
    image: str
    claim: str | None = None


JobFormat = Callable[[JobExport], str]
JOB_FORMATS: Final = Registry[JobFormat]("job format", "offramp.job_formats", "offramp.job.exports")
"""Functions from a job to the text of its file, by the format's name."""
