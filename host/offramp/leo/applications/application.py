# SPDX-License-Identifier: Apache-2.0
"""What the runner needs to know of an application."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from offramp.device import Device
from offramp.leo.applications.workload import Workload
from offramp.leo.native.dataflow import Program
from offramp.leo.runtime.process import Plan
from offramp.leo.runtime.requester import Settings
from offramp.leo.selection import Policy


@dataclass(frozen=True)
class Application:
    """An application and its devices.

    Attributes:
        name: for people.
        paths: that it may take, each of which also works alone.
        plan: the responder's process.
        program: dataflows over some of the paths; from ns that each path takes for a request, where they were measured.
        workload: what is asked; one for each run.
        settings: of the requester.
        window: requests that the closed loop keeps unfinished.
        summed: paths that share no device; all by default.
        request_bytes: that a request moves, for throughput in bytes.
        local: opens the requester's devices.
        rivals: rules that all paths are also run under.
    """

    name: str
    paths: tuple[str, ...]
    plan: Plan
    program: Callable[[Sequence[str], Mapping[str, float]], Program]
    workload: Callable[[int], Workload]
    settings: Settings
    window: int
    summed: tuple[str, ...] = ()
    request_bytes: int = 0
    local: Callable[[], Mapping[str, Device]] = field(default=dict)
    rivals: tuple[Policy, ...] = ()
