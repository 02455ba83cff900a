# SPDX-License-Identifier: Apache-2.0
"""A configuration's links and functions on this machine, as the ``profile`` part of a YAML file."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from typing import Any, Final

from offramp.device import Device
from offramp.leo.config import Config, resolve
from offramp.leo.config.models import LinkProfile
from offramp.leo.profile.functions import measure_function
from offramp.leo.profile.memory import measure_memory
from offramp.leo.profile.peers import measure_shared, measure_tcp
from offramp.leo.profile.samples import sample
from offramp_base.errors import OfframpError
from offramp_base.progress import report

MEDIA: Final[Mapping[str, Callable[[], LinkProfile]]] = {
    "memory": measure_memory,
    "shared": measure_shared,
    "tcp": measure_tcp,
}
"""Measurements of media that can stand for a physical link on this machine."""


def measure_machine(
    config: Config, links: Mapping[str, str], devices: Mapping[str, Device], seconds: float = 0.2
) -> dict[str, Any]:
    """Make the ``profile`` part: every link by the medium that stands for it, every function on every present device.

    Args:
        config: the application and the host model.
        links: medium of each physical link; ``memory`` for those not named.
        devices: devices by node or role.
        seconds: duration of the measurement of each function.

    Raises:
        OfframpError: no such link or medium, a device that fails, or a function for which there is no sample.
    """
    known = {link.id for link in config.hardware.links}
    for link, medium in links.items():
        if link not in known:
            raise OfframpError(f"link {link}: expected one of {', '.join(sorted(known))}")
        if medium not in MEDIA:
            raise OfframpError(f"link {link}: {medium}: expected one of {', '.join(MEDIA)}")
    wanted = {link.id: links.get(link.id, "memory") for link in config.hardware.links}
    media = sorted(set(wanted.values()))
    measured: dict[str, dict[str, float]] = {}
    for i, medium in enumerate(media):
        report(f"measuring {medium}", i, len(media) + len(devices))
        measured[medium] = {name: float(f"{value:.4g}") for name, value in MEDIA[medium]().model_dump().items()}
    compute = _functions(config, devices, seconds, len(media))
    return {
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "links": {link: measured[medium] for link, medium in wanted.items()},
        "compute_us": {config.application.name: compute} if compute else {},
    }


def _functions(config: Config, devices: Mapping[str, Device], seconds: float, begun: int) -> dict[str, Any]:
    """Times by request type, round trip, end and node."""
    resolved = resolve(config, guess=True)
    known: dict[tuple[str, str], float] = {}
    times: dict[str, list[dict[str, dict[str, float]]]] = {}
    asked = {(w.device, w.function) for works in resolved.work.values() for w in works if w.function}
    for i, (node, device) in enumerate(devices.items()):
        report(f"measuring {node}", begun + i, begun + len(devices))
        for name, function in sorted(asked):
            if node in (name, "acc" if name != resolved.topology.cpu else "cpu") and function is not None:
                message = sample(device, function)
                if message is None:
                    raise OfframpError(f"function {function}: there is no sample to measure it with")
                known[name, function] = measure_function(device, function, message, seconds=seconds)
    for (kind, _), works in resolved.work.items():
        trips = times.setdefault(kind, [{} for _ in range(1 + max(w.trip for w in works))])
        for w in works:
            time = known.get((w.device, w.function)) if w.function else w.time_ns / 1e3
            if time is not None:
                trips[w.trip].setdefault(w.end, {})[w.device] = float(f"{time:.4g}")
    return times if known else {}
