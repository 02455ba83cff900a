# SPDX-License-Identifier: Apache-2.0
"""Paths on the FPGA between PCIe endpoints, accelerator and NIC (specification section 8, figure 6.9).

Both PCIe endpoints hang on a switch; the model says which are open. *Direct*: the accelerator sits on endpoint 0 and
the NIC on endpoint 1, and they reach each other through the switch. *On-path*: endpoint 0 alone; the accelerator lies
between CPU and NIC. *Off-path*: endpoint 1 alone; the NIC's router reaches the accelerator.
"""

from __future__ import annotations

from enum import IntEnum


class Model(IntEnum):
    """Attachment of the hardware to the host."""

    DIRECT = 0
    ON_PATH = 1
    OFF_PATH = 2


class Port(IntEnum):
    """Port of the router."""

    ENDPOINT0 = 0
    ENDPOINT1 = 1
    ACCELERATOR = 2
    NIC = 3


class Destination(IntEnum):
    """Destination of a packet."""

    CPU = 0
    ACCELERATOR = 1
    NIC = 2


_CPU, _ACC, _NIC = Destination
WAYS: dict[int, dict[tuple[int, int], Port]] = {
    Model.DIRECT: {
        (Port.ENDPOINT0, _ACC): Port.ACCELERATOR,
        (Port.ENDPOINT1, _NIC): Port.NIC,
        (Port.ACCELERATOR, _CPU): Port.ENDPOINT0,
        (Port.ACCELERATOR, _NIC): Port.ENDPOINT0,
        (Port.NIC, _CPU): Port.ENDPOINT1,
        (Port.NIC, _ACC): Port.ENDPOINT1,
    },
    Model.ON_PATH: {
        (Port.ENDPOINT0, _ACC): Port.ACCELERATOR,
        (Port.ENDPOINT0, _NIC): Port.NIC,
        (Port.ACCELERATOR, _CPU): Port.ENDPOINT0,
        (Port.ACCELERATOR, _NIC): Port.NIC,
        (Port.NIC, _CPU): Port.ENDPOINT0,
        (Port.NIC, _ACC): Port.ACCELERATOR,
    },
    Model.OFF_PATH: {
        (Port.ENDPOINT1, _ACC): Port.ACCELERATOR,
        (Port.ENDPOINT1, _NIC): Port.NIC,
        (Port.ACCELERATOR, _CPU): Port.ENDPOINT1,
        (Port.ACCELERATOR, _NIC): Port.NIC,
        (Port.NIC, _CPU): Port.ENDPOINT1,
        (Port.NIC, _ACC): Port.ACCELERATOR,
    },
}


def route(model: int, port: int, destination: int) -> Port | None:
    """The port on which a packet leaves; None where the model has no such way: it is dropped and counted."""
    return WAYS.get(model, {}).get((port, destination))
