# SPDX-License-Identifier: Apache-2.0
"""Devices by name, such as ``cpu:2``, ``model:service_us=20``, ``fpga:…`` or ``nic:SOCKET``.

The module of a kind is imported when its first device is opened.
"""

from __future__ import annotations

from typing import Any, Final, cast

from offramp.device import Device
from offramp.leo.devices.traced import TracedDevice
from offramp.leo.hops import recorder
from offramp_base.registry import Registry

__all__ = ["KINDS", "open_device", "timeout_s"]

KINDS: Final[Registry[Any]] = Registry("device", "offramp.devices")
"""Modules by kind: a function ``open_device(options, name)`` takes the text behind the colon; ``timeout_s(options)``,
where a module has it, says how long a request may take. Offramp's own are entry points as well."""


def timeout_s(text: str) -> float:
    """Seconds after which a request on the device of this text counts as lost; 0: the general default.

    Raises:
        OfframpError: no such kind, or bad options.
    """
    kind, _, options = text.partition(":")
    return float(getattr(KINDS.get(kind), "timeout_s", lambda _: 0.0)(options))


def open_device(text: str, name: str | None = None) -> Device:
    """Open the device that ``KIND`` or ``KIND:OPTIONS`` describes, called ``name`` or, by default, its kind.

    Raises:
        OfframpError: no such kind, bad options, or the device is not there.
    """
    kind, _, options = text.partition(":")
    device: Device = KINDS.get(kind).open_device(options, name or kind)
    noted = recorder()
    return device if noted is None else cast("Device", TracedDevice(device, noted))
