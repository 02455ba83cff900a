# SPDX-License-Identifier: Apache-2.0
"""``offramp leo profile``: what the links and functions of a configuration take on this machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json
from offramp_cli.leo.plan import Files
from offramp_cli.switch.stages import stages

if TYPE_CHECKING:
    from offramp.device import Device


def profile(
    files: Files,
    link: Annotated[
        list[str] | None,
        typer.Option(help="LINK=memory | shared | tcp: what stands for a physical link here; repeat; memory else."),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(
            help="NODE=KIND:OPTIONS: measure the functions of a node, or of cpu or acc, on this device; repeat."
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(help="For each function.")] = 0.2,
    out: Annotated[
        str | None, typer.Option(help="Write the profile part to this .yaml, for use beside the others.")
    ] = None,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
) -> None:
    """Measure bandwidth, message rate and latency of every link, and the time of every function, on this machine."""
    from rich.console import Console

    from offramp.leo.config import load_config
    from offramp.leo.profile.machine import measure_machine

    expect_writable("--out", out)
    expect_writable("--json", json_path)
    if not 0 < seconds <= 600:
        raise OfframpError(f"--seconds {seconds:g}: expected over 0, up to 600")
    config = load_config(files)
    links = dict(_pair("--link", text) for text in link or [])
    console = Console(highlight=False)
    with ExitStack() as stack, stages(console) as stage:
        stage("measuring")
        devices = {name: _open(stack, text) for name, text in (_pair("--device", d) for d in device or [])}
        measured = measure_machine(config, links, devices, seconds)
    _show(measured, links)
    if out is not None:
        import yaml

        try:
            write_text(Path(out), yaml.safe_dump({"profile": measured}, sort_keys=False))
        except OSError as error:
            raise OfframpError(f"--out {out}: cannot be written: {error.strerror}") from None
    write_json(json_path, measured)


def _pair(flag: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise OfframpError(f"{flag} {text}: expected NAME=VALUE")
    return name, value


def _open(stack: ExitStack, text: str) -> Device:
    from importlib import import_module

    try:
        registry = import_module("offramp.leo.devices.registry")
    except ModuleNotFoundError:
        raise OfframpError(f"--device {text}: this installation has no devices") from None
    made: Device = registry.open_device(text)
    stack.callback(made.close)
    return made


def _show(measured: dict[str, Any], links: dict[str, str]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, title=f"links on {measured['machine']}", title_justify="left")
    for name in ("link", "measured as"):
        table.add_column(name)
    for name in ("Gb/s", "million messages/s", "latency, ns"):
        table.add_column(name, justify="right")
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
