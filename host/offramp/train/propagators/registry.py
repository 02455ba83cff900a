# SPDX-License-Identifier: Apache-2.0
"""Registry of propagators; it needs no PyTorch, since often only names are requested."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from offramp_base.registry import Registry

if TYPE_CHECKING:
    from offramp.train.job import WorkerJob
    from offramp.train.propagators.base import Propagator
    from offramp.workers.group import Group


TOGETHER, IN_TURN = "together", "in-turn"
"""Rows of other workers: in one all-to-all, or one worker's after another's."""


@dataclass(frozen=True)
class Propagation:
    """A propagator that a run may name.

    Attributes:
        open: context manager with a job's propagator, ready for its first exchange; it raises an OfframpError if the
            link to a switch cannot be opened, or workers do not agree.
        alone: whether one process owns the whole graph.
        through_switch: whether a switch takes part, for which exchanges are planned; otherwise a job has a
            :class:`~offramp.train.halo.Halo`.
    """

    open: Callable[[WorkerJob, Group], AbstractContextManager[Propagator]]
    alone: bool = False
    through_switch: bool = False


PROPAGATORS: Final[Registry[Propagation]] = Registry("propagator", "offramp.propagators")
"""Propagators by name; Offramp's own are entry points as well."""
