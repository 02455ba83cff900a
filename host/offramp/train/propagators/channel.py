# SPDX-License-Identifier: Apache-2.0
"""The channel of a job's features between its workers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp.train.propagators.registry import PROPAGATORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from offramp.train.job import WorkerJob
    from offramp.train.propagators.base import Propagator
    from offramp.workers.group import Group
    from offramp.workers.mailbox import Mailbox


@contextmanager
def open_channel(job: WorkerJob, group: Group) -> Iterator[Propagator | Mailbox]:
    """Open a job's channel: a propagator of sums, or a mailbox for rows.

    Raises:
        OfframpError: the propagator cannot be opened.
    """
    if not job.settings.by_halo_features:
        with PROPAGATORS.get(job.settings.propagator).open(job, group) as propagator:
            yield propagator
    else:
        mailbox = _mailbox(job, group)
        yield mailbox
        mailbox.close()  # not after a failure: the others' last messages would not come


def _mailbox(job: WorkerJob, group: Group) -> Mailbox:
    settings = job.settings
    if settings.priorities is None or group.size == 1:
        return group.mailbox(settings.timeout_s, settings.link_bps)
    from offramp.hermod.mailbox import CoflowMailbox

    layers = len(job.widths) - 1
    return CoflowMailbox(
        group, settings.timeout_s, layers, by_priority=settings.priorities == "hermod", rate_bps=settings.link_bps
    )
