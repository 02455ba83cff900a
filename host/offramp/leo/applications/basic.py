# SPDX-License-Identifier: Apache-2.0
"""One-sided operations and an echo: what every responder can do without an application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from offramp.device import Device
from offramp.leo.runtime import native_functions as at
from offramp.leo.runtime.memory import Host
from offramp.leo.runtime.responder import Service

_NO_CONTEXT = np.zeros(1, np.int64)


def prepare(host: Host, devices: Mapping[str, Device], parameters: Mapping[str, Any], *, first: bool) -> Service:
    """Echo, and reads, writes and atomic additions of the host's memory; ``longest``: bytes of an answer."""
    del devices, first
    longest = int(parameters.get("longest", 4096))
    service = Service(host)
    for name in (at.READ, at.WRITE, at.ADD, at.ECHO):
        address, keep = at.addresses()[name]
        room = {at.WRITE: 0, at.ADD: 8}.get(name, longest)
        service.native[name] = address, _NO_CONTEXT, room
        service.keep.append(keep)
    return service
