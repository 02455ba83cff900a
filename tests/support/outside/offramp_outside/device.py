# SPDX-License-Identifier: Apache-2.0
"""A LEO device: one that counts how often it was opened, and is a model otherwise."""

from __future__ import annotations

from offramp.device import Device
from offramp.leo.devices import open_device as open_other

opened = 0


def open_device(options: str, name: str) -> Device:
    """``counted:OPTIONS`` is ``model:OPTIONS``."""
    global opened  # noqa: PLW0603
    opened += 1
    return open_other(f"model:{options}", name)
