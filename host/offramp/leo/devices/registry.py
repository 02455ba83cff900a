# SPDX-License-Identifier: Apache-2.0
"""Which kinds of devices there are; each is imported when the first is opened."""

from __future__ import annotations

import importlib
from typing import Any, Final

from offramp.device import Device
from offramp_base.errors import OfframpError

KINDS: Final[dict[str, str]] = {
    "cpu": "offramp.leo.devices.cpu",
    "model": "offramp.leo.devices.model",
    "faulty": "offramp.leo.devices.faulty",
    "fpga": "offramp.leo.devices.fpga",
    "nic": "offramp.leo.devices.smartnic",
    "fpga-model": "offramp.leo.devices.fpga_model",
}
"""Modules with a function ``open_device(options, name)`` for the text behind the colon."""


def patience_s(text: str) -> float:
    """Seconds that a request may take on the device of this text before it counts as lost; 0: as elsewhere.

    Raises:
        OfframpError: no such kind, or bad options.
    """
    kind, _, options = text.partition(":")
    return float(getattr(_module(kind, text), "patience_s", lambda _: 0.0)(options))


def open_device(text: str, name: str | None = None) -> Device:
    """The device that ``KIND`` or ``KIND:OPTIONS`` names, called ``name``, or as its kind.

    Raises:
        OfframpError: no such kind, bad options, or the device is not there.
    """
    kind, _, options = text.partition(":")
    device: Device = _module(kind, text).open_device(options, name or kind)
    return device


def _module(kind: str, text: str) -> Any:
    if kind not in KINDS:
        raise OfframpError(f"device {text}: expected one of {', '.join(KINDS)}, with options behind a colon")
    try:
        return importlib.import_module(KINDS[kind])
    except ModuleNotFoundError as error:
        raise OfframpError(f"device {text}: this installation lacks {error.name}") from None
