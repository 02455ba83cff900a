# SPDX-License-Identifier: Apache-2.0
"""``offramp leo profile``: performance of a configuration's links and functions on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.leo.application import parse_pair
from offramp_cli.leo.plan import ApplicationFiles
from offramp_cli.result import OUTPUT, Result, write_file
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from offramp import Device


@dataclass(frozen=True)
class ProfileSettings(ApplicationFiles):
    """The configuration to measure, and the devices to measure it on."""

    link: Annotated[
        Mapping[str, str],
        Field(
            "LINK=memory | shared | tcp: stand-in for a physical link here, memory by default; repeatable",
            item=parse_pair,
        ),
    ] = field(default_factory=dict)
    device: Annotated[
        Mapping[str, str],
        Field(
            "NODE=KIND:OPTIONS: measure the functions of a node (or all of cpu or acc) on this device; repeatable",
            item=parse_pair,
        ),
    ] = field(default_factory=dict)
    seconds: Annotated[float, Field("Seconds for each function", above=0, most=600)] = 0.2


@dataclass(frozen=True)
class ProfileOutput(Result):
    """Results of a profile."""

    out: Annotated[
        Path | None,
        Field("Write the profile to this .yaml file, for use with the other files", group=OUTPUT, written=True),
    ] = None


@command(ProfileSettings, ProfileOutput, example="leo profile kvs on-path --seconds 0.1 --out profile.yaml")
def profile(settings: ProfileSettings, outputs: ProfileOutput) -> None:
    """Measure bandwidth, message rate and latency of each link, and the time of each function, on this machine."""
    from offramp.leo.config import load_config
    from offramp.leo.profile.machine import measure_machine

    config = load_config(list(settings.files))
    links = dict(settings.link)
    console = show.console()
    with ExitStack() as stack, stages(console) as stage:
        stage("measuring")
        devices = {name: _open(stack, text) for name, text in settings.device.items()}
        measured = measure_machine(config, links, devices, settings.seconds)
    _show(measured, links)
    if outputs.out is not None:
        import yaml

        write_file("out", outputs.out, yaml.safe_dump({"profile": measured}, sort_keys=False))
    outputs.write("offramp.leo.profile/1", measured)


def _open(stack: ExitStack, text: str) -> Device:
    from importlib import import_module

    try:
        registry = import_module("offramp.leo.devices")
    except ModuleNotFoundError:
        raise SettingsError("device", "this installation has no devices", text) from None
    device: Device = registry.open_device(text)
    stack.callback(device.close)
    return device


def _show(measured: dict[str, Any], links: dict[str, str]) -> None:
    console = show.console()
    words = ("link", "measured as")
    title = f"links on {measured['machine']}"
    table = show.table(*words, "Gb/s", "million messages/s", "latency, ns", left=words, title=title)
    for name, link in measured["links"].items():
        values = (f"{link['bw_gbps']:.4g}", f"{link['mps'] / 1e6:.4g}", f"{link['latency_ns']:.4g}")
        table.add_row(name, links.get(name, "memory"), *values)
    console.print(table)
    for application, kinds in measured["compute_us"].items():
        console.print(f"\n{application}: compute times in us")
        for kind, trips in kinds.items():
            for number, ends in enumerate(trips, 1):
                for end, times in ends.items():
                    times_by_node = ", ".join(f"{node} {time:.4g}" for node, time in times.items())
                    console.print(f"  {kind}, round trip {number}, {end}: {times_by_node}")
