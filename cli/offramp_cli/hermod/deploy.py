# SPDX-License-Identifier: Apache-2.0
"""``offramp coflow deploy``: a queue plan on switches and hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_cli.json_file import write_json

if TYPE_CHECKING:
    from offramp.hermod.deploy.limits import Limits
    from offramp.hermod.deploy.plan import DeployPlan
    from offramp.hermod.deploy.target import Target
    from offramp.hermod.switch.entries import SwitchPlan

_ACTIONS = ("dry_run", "check", "read_back", "undo")


def deploy(
    plan: Annotated[str, typer.Argument(help="A plan (offramp coflow plan JOB --json plan.json), or a job.")],
    target: Annotated[str, typer.Option(help="p4 | sonic | linux.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be written, change nothing.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare what is there; exit code 1 if it differs.")] = False,
    read_back: Annotated[bool, typer.Option("--read-back", help="Print what is there.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove what was deployed.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="In the place of another plan that is there.")] = False,
    switch: Annotated[str, typer.Option(help="p4: P4Runtime server.")] = "127.0.0.1:9559",
    device_id: Annotated[int, typer.Option(help="p4: device.")] = 0,
    election_id: Annotated[int, typer.Option(help="p4: the highest controller writes.")] = 1,
    ports: Annotated[str, typer.Option(help="p4: the switch's ports, as 1-4,7; forwarding stays without.")] = "",
    host: Annotated[list[str] | None, typer.Option(help="p4: MAC=PORT; others are flooded to.")] = None,
    job_ports: Annotated[
        str | None,
        typer.Option(help="p4, sonic: ports whose DSCPs count; others' frames are best effort. All by default."),
    ] = None,
    police: Annotated[
        list[str] | None,
        typer.Option(help="With --rate: QUEUE=RATE that may be sent in a queue, by port (p4: more is best effort)."),
    ] = None,
    control_share: Annotated[
        float, typer.Option(help="With --rate: of the line, that may be sent in the highest queue, by port.")
    ] = 0.05,
    lowest_share: Annotated[
        float, typer.Option(help="With --rate: of the line, that the lowest queue keeps; 0 none.")
    ] = 0.05,
    mtu: Annotated[int, typer.Option(help="p4: bytes of a packet, for ECN.")] = 1500,
    interface: Annotated[
        list[str] | None, typer.Option("-i", "--interface", help="linux: interfaces; sonic: ports, all by default.")
    ] = None,
    qdisc: Annotated[str, typer.Option(help="linux: auto | prio | htb; limits with htb only.")] = "auto",
    rate: Annotated[
        str | None, typer.Option(help="Of the line: p4's and sonic's limits, none without; htb, as the interface says.")
    ] = None,
    config_db: Annotated[Path | None, typer.Option(help="sonic: config_db.json of a switch elsewhere.")] = None,
    out: Annotated[Path, typer.Option(help="sonic: folder for files where SONiC's commands are not.")] = Path(),
    name: Annotated[str, typer.Option(help="sonic: of maps, scheduler and profiles.")] = "HERMOD",
    queues: Annotated[int | None, typer.Option(help="Queues that the switch has.")] = None,
    classes: Annotated[int | None, typer.Option(help="Of a job: queues for data.")] = None,
    control: Annotated[str, typer.Option(help="Of a job: DSCPs for control traffic, with commas.")] = "48",
    scheme: Annotated[str, typer.Option(help="Of a job: split | msb.")] = "split",
    ecn: Annotated[
        list[str] | None, typer.Option(help="Mark above this: SIZE for each queue, or QUEUE=SIZE.", show_default=False)
    ] = None,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the outcome to this file.")] = None,
) -> None:
    """Put a plan on a P4 switch, a SONiC switch or a Linux interface: all of it or nothing, read back.

    P4 switches run p4/hermod; SONiC runs this on the switch, or gets files; Linux sets strict classes of tc.
    """
    from offramp.hermod.deploy.plan import load_plan

    given = [flag for flag, on in zip(_ACTIONS, (dry_run, check, read_back, undo), strict=True) if on]
    if len(given) > 1:
        first, second = (f"--{flag.replace('_', '-')}" for flag in given[:2])
        raise OfframpError(f"{first} and {second}: expected one of them")
    action = given[0] if given else "apply"
    made = load_plan(plan, queues, classes=classes, control=_dscps(control), scheme=scheme)
    made = _with_ecn(made, ecn or [])
    rates = _police(police or [])
    if target == "p4":
        limits = _limits(rate, control_share, lowest_share, rates)
        told = _switch_plan(made, ports, host or [], mtu, job_ports, limits)
        if dry_run:
            from offramp.hermod.deploy.p4 import rendered

            write_json(json_path, {"target": target, "action": action, "rendered": rendered(told)})
            typer.echo(rendered(told))
            return
        with _p4(switch, device_id, election_id, told) as opened:
            _act(opened, target, action, json_path, replace=replace)
    elif target == "sonic":
        limits = _limits(rate, control_share, lowest_share, rates)
        opened = _sonic(made, interface or [], config_db, out, name, job_ports, limits)
        _act(opened, target, action, json_path, replace=replace)
    elif target == "linux":
        opened = _linux(made, interface or [], qdisc, rate, control_share, lowest_share, rates)
        _act(opened, target, action, json_path, replace=replace)
    else:
        raise OfframpError(f"--target {target}: expected p4, sonic or linux")


def _dscps(text: str) -> list[int]:
    from offramp_cli.hermod.plan import parse_dscps

    try:
        return list(parse_dscps(text))
    except ValueError as error:
        raise OfframpError(f"--control {text}: {error}") from None


def _act(opened: Target, target: str, action: str, json_path: str | None, *, replace: bool) -> None:
    outcome: dict[str, Any] = {"target": target, "name": opened.name, "action": action}
    code = 0
    if action == "dry_run":
        outcome["rendered"] = opened.rendered()
        typer.echo(outcome["rendered"])
    elif action == "check":
        found = opened.differences()
        outcome["differences"], code = [asdict(d) for d in found], 1 if found else 0
        typer.echo("\n".join(map(str, found)) or f"{opened.name}: as planned")
    elif action == "read_back":
        outcome["deployed"] = opened.deployed()
        _show(outcome["deployed"])
    elif action == "undo":
        outcome["changed"] = opened.undo()
        typer.echo(f"{opened.name}: {'removed' if outcome['changed'] else 'nothing was deployed'}")
    else:
        outcome["changed"] = opened.apply(replace=replace)
        typer.echo(f"{opened.name}: {'deployed and read back' if outcome['changed'] else 'as planned already'}")
    write_json(json_path, outcome)
    raise typer.Exit(code)


def _show(deployed: dict[str, Any]) -> None:
    import json

    plain = all(isinstance(value, str) for value in deployed.values())
    if not deployed:
        typer.echo("nothing is deployed")
    elif plain:
        typer.echo("\n".join(f"{what}: {value}" for what, value in deployed.items()))
    else:
        typer.echo(json.dumps(deployed, indent=2))


@contextmanager
def _p4(switch: str, device_id: int, election_id: int, plan: SwitchPlan) -> Iterator[Target]:
    from offramp.hermod.deploy.p4 import P4Target
    from offramp_base.p4rt.session import Session

    with Session(switch, device_id=device_id, election_id=election_id) as session:
        yield P4Target(session, plan)


def _police(texts: list[str]) -> dict[int, int]:
    from offramp_base.settings.units import parse_rate

    rates: dict[int, int] = {}
    for text in texts:
        queue, equals, size = text.partition("=")
        number = whole_number(queue)
        if not equals or number is None:
            raise OfframpError(f"--police {text}: expected QUEUE=RATE, such as 6=10gbit")
        rates[number] = parse_rate(size, "--police")
    return rates


def _limits(rate: str | None, control_share: float, lowest_share: float, rates: dict[int, int]) -> Limits | None:
    from offramp.hermod.deploy.limits import Limits
    from offramp_base.settings.units import parse_rate

    if rate is None:
        if rates:
            raise OfframpError(f"--police of queue {min(rates)}: expected --rate of the line too")
        return None
    return Limits(parse_rate(rate, "--rate"), control_share, lowest_share, rates)


def _switch_plan(
    plan: DeployPlan, ports: str, hosts: list[str], mtu: int, job_ports: str | None, limits: Limits | None
) -> SwitchPlan:
    from offramp.hermod.deploy.p4 import switch_plan

    if mtu < 1:
        raise OfframpError(f"--mtu {mtu}: expected bytes of a packet")
    all_ports, members = _ports(ports), None if job_ports is None else _ports(job_ports, "--job-ports")
    for port in members or ():
        if all_ports and port not in all_ports:
            raise OfframpError(f"--job-ports {job_ports}: port {port} is none of --ports {ports}")
    made = dict(_host(text) for text in hosts)
    return switch_plan(plan, all_ports, made, mtu=mtu, members=members, limits=limits)


def _sonic(
    plan: DeployPlan,
    ports: list[str],
    config_db: Path | None,
    out: Path,
    name: str,
    job_ports: str | None,
    limits: Limits | None,
) -> Target:
    from offramp.hermod.deploy.sonic.device import Device, is_sonic
    from offramp.hermod.deploy.sonic.files import Files
    from offramp.hermod.deploy.sonic.target import SonicTarget

    here = config_db is None and is_sonic()
    members = None if job_ports is None else [port.strip() for port in job_ports.split(",") if port.strip()]
    store = Device() if here else Files(out, name, config_db)
    return SonicTarget(store, plan, ports, name, members=members, limits=limits)


def _linux(
    plan: DeployPlan,
    interfaces: list[str],
    qdisc: str,
    rate: str | None,
    control: float,
    lowest: float,
    police: dict[int, int],
) -> Target:
    from offramp.hermod.deploy.linux.several import LinuxTargets
    from offramp.hermod.deploy.linux.target import LinuxTarget
    from offramp_base.settings.units import parse_rate

    if not interfaces or len(set(interfaces)) != len(interfaces):
        raise OfframpError(f"--interface: {', '.join(interfaces) or 'none'}; expected one or more, each once")
    if not 0 < control <= 1:
        raise OfframpError(f"--control-share {control:g}: expected more than 0, up to 1")
    if not 0 <= lowest < 1:
        raise OfframpError(f"--lowest-share {lowest:g}: expected 0 up, below 1")
    rate_bps = None if rate is None else parse_rate(rate, "--rate")
    targets = [
        LinuxTarget(interface, plan, kind=qdisc, rate_bps=rate_bps, control=control, lowest=lowest, police=police)
        for interface in interfaces
    ]
    return targets[0] if len(targets) == 1 else LinuxTargets(targets)


def _with_ecn(plan: DeployPlan, texts: list[str]) -> DeployPlan:
    from dataclasses import replace

    from offramp_base.settings.units import parse_size

    sizes: dict[int, int] = {}
    for text in texts:
        queue, equals, size = text.rpartition("=")
        number = whole_number(queue)
        if equals and number is None:
            raise OfframpError(f"--ecn {text}: expected SIZE or QUEUE=SIZE, such as 3=150KB")
        which = [q for q in range(plan.count) if q not in sizes] if number is None else [number]
        sizes |= dict.fromkeys(which, parse_size(size, "--ecn"))
    return replace(plan, ecn_bytes=sizes) if sizes else plan


def _ports(text: str, option: str = "--ports") -> list[int]:
    found: list[int] = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", part.strip())
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
        if not numbers or numbers[-1] > 510 or not set(found).isdisjoint(numbers):
            raise OfframpError(f"{option} {text}: expected different numbers up to 510, such as 1-4,7")
        found += numbers
    return found


def _host(text: str) -> tuple[int, int]:
    mac, _, port = text.partition("=")
    number = whole_number(port)
    if not re.fullmatch(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", mac) or number is None:
        raise OfframpError(f"--host {text}: expected MAC=PORT, such as 02:00:00:00:00:01=1")
    return int(mac.replace(":", ""), 16), number
