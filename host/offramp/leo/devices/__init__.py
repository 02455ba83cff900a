# SPDX-License-Identifier: Apache-2.0
"""Devices by name, such as ``cpu:2``, ``model:service_us=20``, ``fpga:…`` or ``nic:SOCKET``."""

from offramp.leo.devices.registry import KINDS, open_device, timeout_s

__all__ = ["KINDS", "open_device", "timeout_s"]
