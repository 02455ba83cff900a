# SPDX-License-Identifier: Apache-2.0
"""The description of an application that the runner needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from offramp.device import Device
from offramp.leo.applications.workload import Workload
from offramp.leo.native.dataflow import Dataflow
from offramp.leo.runtime.process import ResponderPlan
from offramp.leo.runtime.requester import RequesterSettings
from offramp.leo.selection import Policy


@dataclass(frozen=True)
class Application:
    """An application and its devices.

    Attributes:
        name: shown to users.
        paths: names of the paths that it may take, each of which also works alone.
        plan: describes the responder's process.
        program: builds the dataflows over some of the paths, given the measured ns per request of each path, if any.
        workload: makes the requests; called once per run.
        settings: options of the requester.
        window: requests that the closed loop keeps outstanding.
        summed: paths that share no device; all by default.
        request_bytes: bytes that a request moves, for throughput in bytes.
        local: opens the requester's devices.
        rivals: rules under which all paths are also run for comparison.
    """

    name: str
    paths: tuple[str, ...]
    plan: ResponderPlan
    program: Callable[[Sequence[str], Mapping[str, float]], Dataflow]
    workload: Callable[[int], Workload]
    settings: RequesterSettings
    window: int
    summed: tuple[str, ...] = ()
    request_bytes: int = 0
    local: Callable[[], Mapping[str, Device]] = field(default=dict)
    rivals: tuple[Policy, ...] = ()
