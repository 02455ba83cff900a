"""Devices on which the conformance suite runs; those that cannot be opened here skip, saying why."""

from __future__ import annotations

import pytest

from offramp.errors import OfframpError
from offramp.leo.device import Device
from offramp.leo.devices import open_device

DEVICES = ["cpu:2", "model:service_us=200,parallelism=2", "faulty::model:service_us=50", "fpga-model:"]


def opened(text: str) -> Device:
    """The device, or a skip."""
    try:
        return open_device(text)
    except OfframpError as error:
        pytest.skip(str(error))
