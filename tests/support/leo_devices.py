# SPDX-License-Identifier: Apache-2.0
"""Devices on which the conformance suite runs; those that cannot be opened here skip, saying why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from nic_agent import built
from offramp.device import Device
from offramp.leo.devices import open_device
from offramp.nic.build import AGENT
from offramp.nic.process import AgentProcess
from offramp_base.errors import OfframpError
from offramp_sim.rtl.build import missing

DEVICES = [
    "cpu:2",
    "model:service_us=200,parallelism=2",
    "faulty::model:service_us=50",
    "fpga-model:",
    "isal:2",
    "gpu:cpu",
    pytest.param("gpu:cuda", marks=pytest.mark.gpu),
    pytest.param("nic:", marks=pytest.mark.nic),
    pytest.param("fpga:table_bytes=4096,depth=16", marks=[pytest.mark.rtl, pytest.mark.slow]),
]
"""``nic:`` is an agent of the test's own; ``fpga:`` a card in simulation, whose start takes seconds."""


@contextmanager
def opened(text: str) -> Iterator[Device]:
    """The device, or a skip."""
    with ExitStack() as stack:
        if text.startswith("fpga:") and (lacking := missing("icarus")):
            pytest.skip(f"a simulated card needs {lacking}")
        try:
            if text == "nic:":
                text += str(stack.enter_context(AgentProcess(program=built() / AGENT)).path)
            device = open_device(text)
        except OfframpError as error:
            pytest.skip(str(error))
        stack.callback(device.close)
        yield device
