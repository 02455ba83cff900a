# SPDX-License-Identifier: Apache-2.0
"""Programs that controllers push: compiled within a budget, with nothing of this machine in reach."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.device_config import DeviceConfig
from offramp_p4.runtime.entities.base import invalid
from offramp_p4.source import quoting_only_given

if TYPE_CHECKING:
    from offramp_p4.runtime.device import P4Device
    from offramp_p4.runtime.pipeline import Pipeline

MAX_NAME = 100


def build_pushed(device: P4Device, config: DeviceConfig, name: str, p4_config: Any | None = None) -> Pipeline:
    """The pipeline of a configuration; its program may include and quote nothing of this machine.

    Args:
        device: the device, with the budget and the recipe for the switch.
        config: the configuration that was pushed.
        name: name of the file in messages.
        p4_config: the P4Runtime message that the configuration came in.

    Raises:
        RpcError: the program is refused, or takes more than its budget.
    """
    compiler = device.compiler
    try:
        with (
            quoting_only_given(),
            compiler.trying(config.text, name, config.p4info) if compiler else nullcontext() as cache,
        ):
            return device.make_pipeline(config.load(name), p4_config, cache)
    except RpcError:
        raise
    except OfframpError as error:
        raise invalid(str(error)) from None
    except MemoryError:
        raise RpcError(Code.RESOURCE_EXHAUSTED, f"{name}: the program takes more memory than there is") from None


def compile_pushed(device: P4Device, binary: bytes, name: str) -> Pipeline:
    """The pipeline of a program that is pushed as text under a name.

    Raises:
        RpcError: as :func:`build_pushed`, or what was pushed is not text.
    """
    if not binary:
        raise invalid("the binary is empty; this switch takes the text of a P4 program")
    try:
        text = binary.decode()
    except UnicodeDecodeError:
        raise invalid("the binary is not text; this switch takes the text of a P4 program") from None
    return build_pushed(device, DeviceConfig(text), f"{file_name(name) or 'pushed'}.p4")


def file_name(name: str) -> str:
    """A name that somebody gave as that of a file in messages."""
    return "".join(c for c in name if c.isprintable() and c not in "/\\")[:MAX_NAME]
