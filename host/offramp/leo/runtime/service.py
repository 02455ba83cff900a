# SPDX-License-Identifier: Apache-2.0
"""Capabilities of a responder; without an application, one-sided operations and an echo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp.device import Device
from offramp.leo.functions.echo import ECHO
from offramp.leo.native import functions as at
from offramp.leo.native.dataflow import CPU
from offramp.leo.native.engine import ModelledAccelerator
from offramp.leo.runtime.dispatcher import Dispatcher
from offramp.leo.runtime.host import ResponderState
from offramp_base.errors import OfframpError

Words = npt.NDArray[np.int64]
Finish = Callable[[int, bytes], bytes]
"""Makes the request's answer from its key and a device's answer."""
Function = Callable[[bytes], bytes]
"""A function of the CPU in Python; it raises OfframpError where it cannot answer."""
_NO_CONTEXT = np.zeros(1, np.int64)


@dataclass
class ResponderService:
    """Capabilities of a responder.

    Attributes:
        host: its memory and journals.
        dispatchers: dispatchers of devices by name; one called ``cpu`` takes the CPU's functions that are not compiled.
        python: functions of the CPU in Python.
        native: address, context and longest answer of compiled functions of the CPU.
        chains: functions whose first part a device computes, under the name given here, and the CPU finishes.
        engines: modelled accelerators within the compiled loop.
        tasks: functions called in each round; each returns whether there was anything to do.
        keep: objects that must live as long.
    """

    host: ResponderState
    dispatchers: dict[str, Dispatcher] = field(default_factory=dict)
    python: dict[str, Function] = field(default_factory=dict)
    native: dict[str, tuple[int, Words, int]] = field(default_factory=dict)
    chains: dict[str, tuple[str, Finish]] = field(default_factory=dict)
    engines: dict[str, ModelledAccelerator] = field(default_factory=dict)
    tasks: list[Callable[[], bool]] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)

    def check(self, functions: Iterable[tuple[str, str]]) -> None:
        """Refuse pairs of device and function that do not exist.

        Raises:
            OfframpError: names the first such pair.
        """
        for device, function in functions:
            dispatcher = self.dispatchers.get(device)
            if device != CPU and dispatcher is None:
                have = ", ".join([CPU, *self.dispatchers])
                raise OfframpError(f"responder has no device {device}: it has {have}")
            known = set(dispatcher.device.functions if dispatcher is not None else ())
            known |= {name for name, (first, _) in self.chains.items() if first in known}
            if device == CPU:
                known |= set(self.python) | set(self.native)
            if function not in known:
                raise OfframpError(
                    f"responder's {device} has no function {function}: it has {', '.join(sorted(known))}"
                )


def prepare(
    host: ResponderState, devices: Mapping[str, Device], parameters: Mapping[str, Any], *, first: bool
) -> ResponderService:
    """Echo, and reads, writes and atomic additions of the host's memory; ``longest``: bytes of an answer."""
    del devices, first
    longest = int(parameters.get("longest", 4096))
    service = ResponderService(host)
    for name in (at.READ, at.WRITE, at.ADD, ECHO):
        address, keep = at.addresses()[name]
        room = {at.WRITE: 0, at.ADD: 8}.get(name, longest)
        service.native[name] = address, _NO_CONTEXT, room
        service.keep.append(keep)
    return service
