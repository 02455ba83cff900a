# SPDX-License-Identifier: Apache-2.0
"""Propagators by name, without importing PyTorch, which is not needed to list the names."""

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


@dataclass(frozen=True)
class Propagation:
    """A way of carrying boundary features that a run may name.

    Attributes:
        open: gives a job's propagator, ready for its first exchange, for as long as the block runs; it raises an
            OfframpError where the link to a switch cannot be opened, or workers do not agree.
        alone: whether one process owns the whole graph.
        through_switch: whether a switch takes part, for which exchanges are planned; otherwise a job has a
            :class:`~offramp.train.halo.Halo`.
    """

    open: Callable[[WorkerJob, Group], AbstractContextManager[Propagator]]
    alone: bool = False
    through_switch: bool = False


PROPAGATORS: Final[Registry[Propagation]] = Registry("propagator", "offramp.propagators")
"""Offramp's own are entry points as well."""
