# SPDX-License-Identifier: Apache-2.0
"""``offramp leo profile``: what the links and functions of a configuration take on this machine."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base.ending.files import write_text
from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.leo.plan import Files
from offramp_cli.result import OUTPUT, Result
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from offramp.device import Device


@dataclass(frozen=True)
class ProfileSettings(Files):
    """What is measured, on what."""

    link: Annotated[
        tuple[str, ...],
        Field("LINK=memory | shared | tcp: what stands for a physical link here; repeat; memory else"),
    ] = ()
    device: Annotated[
        tuple[str, ...],
        Field("NODE=KIND:OPTIONS: measure the functions of a node, or of cpu or acc, on this device; repeat"),
    ] = ()
    seconds: Annotated[float, Field("For each function", above=0, most=600)] = 0.2

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Outputs(Result):
    """What a profile writes."""

    out: Annotated[
        Path | None,
        Field("Write the profile part to this .yaml, for use beside the others", group=OUTPUT, written=True),
    ] = None


@command(ProfileSettings, Outputs, example="leo profile kvs on-path --seconds 0.1 --out profile.yaml")
def profile(settings: ProfileSettings, outputs: Outputs) -> None:
    """Measure bandwidth, message rate and latency of every link, and the time of every function, on this machine."""
    from offramp.leo.config import load_config
    from offramp.leo.profile.machine import measure_machine

    config = load_config(list(settings.files))
    links = dict(_pair("link", text) for text in settings.link)
    console = show.console()
    with ExitStack() as stack, stages(console) as stage:
        stage("measuring")
        devices = {name: _open(stack, text) for name, text in (_pair("device", d) for d in settings.device)}
        measured = measure_machine(config, links, devices, settings.seconds)
    _show(measured, links)
    if outputs.out is not None:
        import yaml

        try:
            write_text(outputs.out, yaml.safe_dump({"profile": measured}, sort_keys=False))
        except OSError as error:
            raise SettingsError("out", f"cannot be written: {error.strerror}", str(outputs.out)) from None
    outputs.write("offramp.leo.profile/1", measured)


def _pair(field: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise SettingsError(field, "expected NAME=VALUE", text)
    return name, value


def _open(stack: ExitStack, text: str) -> Device:
    from importlib import import_module

    try:
        registry = import_module("offramp.leo.devices.registry")
    except ModuleNotFoundError:
        raise SettingsError("device", "this installation has no devices", text) from None
    made: Device = registry.open_device(text)
    stack.callback(made.close)
    return made


def _show(measured: dict[str, Any], links: dict[str, str]) -> None:

    console = show.console()
    words = ("link", "measured as")
    title = f"links on {measured['machine']}"
    table = show.table(*words, "Gb/s", "million messages/s", "latency, ns", left=words, title=title)
    for name, found in measured["links"].items():
        values = (f"{found['bw_gbps']:.4g}", f"{found['mps'] / 1e6:.4g}", f"{found['latency_ns']:.4g}")
        table.add_row(name, links.get(name, "memory"), *values)
    console.print(table)
    for application, kinds in measured["compute_us"].items():
        console.print(f"\n{application}: compute times in us")
        for kind, trips in kinds.items():
            for number, ends in enumerate(trips, 1):
                for end, times in ends.items():
                    said = ", ".join(f"{node} {time:.4g}" for node, time in times.items())
                    console.print(f"  {kind}, round trip {number}, {end}: {said}")
