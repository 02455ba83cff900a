# SPDX-License-Identifier: Apache-2.0
"""The ports of a switch that are on DPDK's devices, and their threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.errors import OfframpError
from offramp_p4.ports.dpdk.devices import parse_device
from offramp_p4.ports.dpdk.library import ports_library
from offramp_p4.ports.dpdk.port import DpdkPort
from offramp_p4.ports.dpdk.workers import Workers

if TYPE_CHECKING:
    from offramp_p4.ports.base import Port
    from offramp_p4.settings import Settings


def open_devices(settings: Settings) -> tuple[dict[int, Port], Workers]:
    """The ports by number, and the threads, which run nothing yet.

    Raises:
        OfframpError: a link names no device, DPDK is missing or does not start, or a driver refuses; none stays open.
    """
    links = settings.on_devices
    devices = [parse_device(link, number) for number, link in links.items()]
    library = ports_library()
    library.begin([device.name for device in devices if device.is_pci], huge=settings.huge_pages)
    ports: dict[int, Port] = {}
    try:
        for number, link in links.items():
            ports[number] = DpdkPort(library, link, number, settings.cores)
        return ports, Workers(library, links, settings.cores, settings.spread)
    except OfframpError:
        for port in ports.values():
            port.close()
        raise
