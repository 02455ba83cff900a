# SPDX-License-Identifier: Apache-2.0
"""``nic:SOCKET``: the agent of a smartNIC by its control socket, with tables for look-ups."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from offramp.device import Device
from offramp.leo.devices.options import parse
from offramp.leo.devices.software import DEFAULT_BYTES, EBS_LAYOUT
from offramp.leo.functions import ebs, kvs
from offramp_base.errors import OfframpError


@dataclass(frozen=True)
class SmartNicOptions:
    """``socket`` of the agent; ``depth`` and ``table_bytes`` (bytes of the index) are powers of two."""

    socket: str = ""
    depth: int = 256
    table_bytes: int = DEFAULT_BYTES


def open_device(options: str, name: str) -> Device:
    """The agent at a socket; the first option may be ``socket`` alone.

    Raises:
        OfframpError: no agent is there.
    """
    given = parse(SmartNicOptions, options, f"nic:{options}", "socket")
    if not given.socket:
        raise OfframpError(f"device nic:{options}: expected nic:SOCKET, the control socket of an agent")
    module = importlib.import_module("offramp.leo.devices.nic")
    device: Device = module.NicDevice(
        given.socket,
        name,
        depth=given.depth,
        kvs_buckets=given.table_bytes // kvs.LINE,
        ebs_layout=ebs.TableLayout(*EBS_LAYOUT),
    )
    return device
