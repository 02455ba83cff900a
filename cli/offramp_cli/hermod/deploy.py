# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod deploy``: a queue plan on switches and hosts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base import Field, SettingsError
from offramp_base.numerals import whole_number
from offramp_base.settings import BITS_PER_SECOND, BYTES
from offramp_cli.command import command
from offramp_cli.hermod.plan import parse_dscps
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from offramp.hermod import QueuePlan
    from offramp.hermod.deploy.limits import LineLimits
    from offramp.hermod.deploy.sonic.target import SonicTarget
    from offramp.hermod.deploy.target import DeployTarget
    from offramp.hermod.switch.entries import SwitchPlan

_ACTIONS = ("dry_run", "check", "read_back", "undo")


def parse_ports(text: str) -> tuple[int, ...]:
    """Parse ports such as ``1-4,7``.

    Raises:
        ValueError: something else.
    """
    ports: list[int] = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", part.strip())
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
        if not numbers or numbers[-1] > 510 or not set(ports).isdisjoint(numbers):
            raise ValueError("expected distinct numbers up to 510, such as 1-4,7")
        ports += numbers
    return tuple(ports)


def parse_host(text: str) -> tuple[int, int]:
    """Parse ``MAC=PORT``.

    Raises:
        ValueError: something else.
    """
    mac, _, port = text.partition("=")
    number = whole_number(port)
    if not re.fullmatch(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", mac) or number is None:
        raise ValueError("expected MAC=PORT, such as 02:00:00:00:00:01=1")
    return int(mac.replace(":", ""), 16), number


def _queue_rate(text: str) -> tuple[int, int]:
    queue, equals, rate = text.partition("=")
    number = whole_number(queue)
    if not equals or number is None:
        raise ValueError("expected QUEUE=RATE, such as 6=10gbit")
    return number, BITS_PER_SECOND.parse(rate)


def _queue_size(text: str) -> tuple[int | None, int]:
    queue, equals, size = text.rpartition("=")
    number = whole_number(queue)
    if equals and number is None:
        raise ValueError("expected SIZE or QUEUE=SIZE, such as 3=150KB")
    return number, BYTES.parse(size)


@dataclass(frozen=True, kw_only=True)
class DeploySettings:
    """A plan of queues, and where it goes.

    Attributes:
        ecn_bytes: queue and size, in order; None: every queue that has no size yet.
    """

    plan: Annotated[str, Field("A plan (offramp hermod plan JOB --json plan.json), or a job", position=True)]
    target: Annotated[
        str,
        Field(
            "DeployTarget of the plan",
            choices={"p4": "runs p4/hermod", "sonic": "here, or as files", "linux": "strict classes"},
        ),
    ]
    dry_run: Annotated[bool, Field("Print what would be written, change nothing", group="Instead of deploying")] = False
    check: Annotated[bool, Field("Compare the target with the plan; exit code 1 if they differ")] = False
    read_back: Annotated[bool, Field("Print the current state of the target")] = False
    undo: Annotated[bool, Field("Remove what was deployed")] = False
    replace: Annotated[
        bool, Field("Replace another plan that is deployed; sonic: replace all queues but PFC's", group="Queues")
    ] = False
    queues: Annotated[int | None, Field("Number of queues that the switch has")] = None
    classes: Annotated[int | None, Field("If a job is given: number of queues for data")] = None
    control: Annotated[
        tuple[int, ...], Field("If a job is given: DSCPs for control traffic, separated by commas", parse=parse_dscps)
    ] = (48,)
    scheme: Annotated[str, Field("If a job is given: mapping of code points to queues: split | msb")] = "split"
    apart: Annotated[bool, Field("If a job is given: leave queue 0, below all of the job's, to other traffic")] = False
    ecn_bytes: Annotated[
        tuple[tuple[int | None, int], ...],
        Field(
            "Mark packets above this queue length: SIZE for each queue, or QUEUE=SIZE; repeatable",
            key="ecn",
            item=_queue_size,
        ),
    ] = ()
    job_ports: Annotated[
        str | None,
        Field(
            "p4, sonic: ports whose DSCPs are trusted, all by default; frames of others are best effort",
            group="LineLimits",
        ),
    ] = None
    rate_bps: Annotated[
        int | None,
        Field(
            "Rate of the line. p4, sonic: needed for limits. htb: the interface's by default",
            key="rate",
            unit=BITS_PER_SECOND,
        ),
    ] = None
    police: Annotated[
        Mapping[int, int],
        Field(
            "With --rate: QUEUE=RATE that each port may send in a queue (p4: the excess is best effort); repeatable",
            item=_queue_rate,
        ),
    ] = field(default_factory=dict)
    control_share: Annotated[
        float,
        Field("With --rate: share of the line that each port may send in the highest queue", above=0, most=1),
    ] = 0.05
    lowest_share: Annotated[
        float, Field("With --rate: share of the line that is reserved for the lowest queue; 0: none", least=0, below=1)
    ] = 0.05
    switch: Annotated[str, Field("P4Runtime server, HOST:PORT or unix:PATH", group="DeployTarget p4")] = (
        "127.0.0.1:9559"
    )
    device_id: Annotated[int, Field("P4Runtime device")] = 0
    election_id: Annotated[int, Field("P4Runtime election id; the controller with the highest may write")] = 1
    ports: Annotated[
        tuple[int, ...],
        Field("The switch's ports, such as 1-4,7; without them, forwarding is left as it is", parse=parse_ports),
    ] = ()
    host: Annotated[
        Mapping[int, int], Field("MAC=PORT of a host; frames to others are flooded; repeatable", item=parse_host)
    ] = field(default_factory=dict)
    mtu: Annotated[int, Field("Largest packet in bytes, for ECN", least=1)] = 1500
    interface: Annotated[
        tuple[str, ...],
        Field(
            "linux: interfaces; sonic: ports, all by default; repeatable", short="-i", group="Targets linux and sonic"
        ),
    ] = ()
    qdisc: Annotated[str, Field("linux: queueing discipline: auto | prio | htb (the only one with limits)")] = "auto"
    job_cgroup: Annotated[
        tuple[Path, ...],
        Field("linux: folder of a cgroup v2 whose sockets may use the job's DSCPs; others' are re-marked; repeatable"),
    ] = ()
    config_db: Annotated[Path | None, Field("sonic: config_db.json of another machine's switch")] = None
    name: Annotated[str, Field("sonic: name for maps, scheduler and profiles")] = "HERMOD"
    out: Annotated[
        Path,
        Field("sonic: folder for files if SONiC's commands are missing here, and for NAME.plan.json", group=OUTPUT),
    ] = Path()

    def __post_init__(self) -> None:
        actions = [name for name in _ACTIONS if getattr(self, name)]
        if len(actions) > 1:
            raise SettingsError(actions[0], f"expected without {{{actions[1]}}}")
        if self.police and self.rate_bps is None and self.target != "linux":
            raise SettingsError("police", "expected {rate} of the line too")
        if self.job_cgroup and self.target != "linux":
            raise SettingsError("job_cgroup", "expected with {target} linux")
        if self.target == "linux" and (not self.interface or len(set(self.interface)) != len(self.interface)):
            raise SettingsError("interface", "expected one or more, each once", ", ".join(self.interface) or "none")

    @property
    def action(self) -> str:
        """The action that the options ask for."""
        return next((name for name in _ACTIONS if getattr(self, name)), "apply")


@command(DeploySettings, Result, example="hermod deploy plan.json --target p4 --switch 127.0.0.1:9559 --ports 1-4")
def deploy(settings: DeploySettings, result: Result) -> None:
    """Deploy a plan to a P4 switch, a SONiC switch or Linux interfaces, atomically, and read it back.

    P4 switches run p4/hermod; for SONiC, run this on the switch, or apply its files; Linux gets strict classes of tc.
    """
    plan = _planned(settings)
    if settings.target == "sonic":
        _act_beside(_sonic(plan, settings), settings, result)
    elif settings.target == "linux":
        _act(_linux(plan, settings), settings, result)
    else:
        of_switch = _switch_plan(plan, settings)
        if settings.dry_run:
            from offramp.hermod.deploy.p4 import rendered

            typer.echo(rendered(of_switch))
            _write(result, settings, rendered=rendered(of_switch))
            return
        with _p4(of_switch, settings) as opened:
            _act(opened, settings, result)


def _planned(settings: DeploySettings) -> QueuePlan:
    from offramp.hermod.deploy import load_plan

    scheme, control = settings.scheme, list(settings.control)
    options: dict[str, Any] = {"classes": settings.classes, "apart": settings.apart}
    plan = load_plan(settings.plan, settings.queues, control=control, scheme=scheme, **options)
    sizes: dict[int, int] = {}
    for queue, size in settings.ecn_bytes:
        sizes |= dict.fromkeys([q for q in range(plan.count) if q not in sizes] if queue is None else [queue], size)
    return replace(plan, ecn_bytes=sizes) if sizes else plan


def _write(result: Result, settings: DeploySettings, **outcome: Any) -> None:
    result.write("offramp.hermod.deploy/1", {"target": settings.target, "action": settings.action, **outcome})


def _act_beside(opened: SonicTarget, settings: DeploySettings, result: Result) -> None:
    """Report how the plan was fitted: in lines for people, and in the JSON."""
    from offramp.hermod.plan_file import SCHEMA, plan_document

    if settings.undo or settings.read_back:
        _act(opened, settings, result)
    fitted = opened.fitted
    beside: dict[str, Any] = {"queues": dict(fitted.queues), "dscps": dict(fitted.moved), "notes": list(fitted.notes)}
    notes = list(fitted.notes)
    if fitted.moved:
        beside["plan"] = {"schema": SCHEMA, **plan_document(fitted.plan)}
        notes.append(f"plan for the hosts: {_carried(settings)}")
    for note in notes:
        typer.echo(note, err=settings.dry_run)
    _act(opened, settings, result, **({"beside": beside} if fitted.notes else {}))


def _carried(settings: DeploySettings) -> Path:
    return settings.out / f"{settings.name.lower()}.plan.json"


def _act(opened: DeployTarget, settings: DeploySettings, result: Result, **more: Any) -> None:
    outcome: dict[str, Any] = {"name": opened.name, **more}
    code = 0
    if settings.dry_run:
        outcome["rendered"] = opened.rendered()
        typer.echo(outcome["rendered"])
    elif settings.check:
        differences = opened.differences()
        outcome["differences"], code = [asdict(each) for each in differences], 1 if differences else 0
        typer.echo("\n".join(map(str, differences)) or f"{opened.name}: as planned")
    elif settings.read_back:
        outcome["deployed"] = opened.deployed()
        _show(outcome["deployed"])
    elif settings.undo:
        outcome["changed"] = opened.undo()
        typer.echo(f"{opened.name}: {'removed' if outcome['changed'] else 'nothing was deployed'}")
    else:
        outcome["changed"] = opened.apply(replace=settings.replace)
        typer.echo(f"{opened.name}: {'deployed and read back' if outcome['changed'] else 'already as planned'}")
    _write(result, settings, **outcome)
    raise typer.Exit(code)


def _show(deployed: dict[str, Any]) -> None:
    if not deployed:
        typer.echo("nothing is deployed")
    elif all(isinstance(value, str) for value in deployed.values()):
        typer.echo("\n".join(f"{what}: {value}" for what, value in deployed.items()))
    else:
        typer.echo(json.dumps(deployed, indent=2))


def _limits(settings: DeploySettings) -> LineLimits | None:
    from offramp.hermod.deploy.limits import LineLimits

    if settings.rate_bps is None:
        return None
    return LineLimits(settings.rate_bps, settings.control_share, settings.lowest_share, dict(settings.police))


def _switch_plan(plan: QueuePlan, settings: DeploySettings) -> SwitchPlan:
    from offramp.hermod.deploy import switch_plan

    members = None
    if settings.job_ports is not None:
        try:
            members = list(parse_ports(settings.job_ports))
        except ValueError as error:
            raise SettingsError("job_ports", str(error), settings.job_ports) from None
    for port in members or ():
        if settings.ports and port not in settings.ports:
            raise SettingsError("job_ports", f"port {port} is not one of {{ports}}", settings.job_ports)
    limits, ports = _limits(settings), list(settings.ports)
    return switch_plan(plan, ports, dict(settings.host), mtu=settings.mtu, members=members, limits=limits)


@contextmanager
def _p4(plan: SwitchPlan, settings: DeploySettings) -> Iterator[DeployTarget]:
    from offramp.hermod.deploy import P4Target
    from offramp_base import Session

    with Session(settings.switch, device_id=settings.device_id, election_id=settings.election_id) as session:
        yield P4Target(session, plan)


def _sonic(plan: QueuePlan, settings: DeploySettings) -> SonicTarget:
    from offramp.hermod.deploy.sonic.device import SonicDevice, is_sonic
    from offramp.hermod.deploy.sonic.files import SonicFiles
    from offramp.hermod.deploy.sonic.target import SonicTarget

    name, members = settings.name, None
    if settings.job_ports is not None:
        members = [port.strip() for port in settings.job_ports.split(",") if port.strip()]
    here = settings.config_db is None and is_sonic()
    store = SonicDevice() if here else SonicFiles(settings.out, name, settings.config_db)
    carried = None if Path(settings.plan).resolve() == _carried(settings).resolve() else _carried(settings)
    options: dict[str, Any] = {"members": members, "limits": _limits(settings), "take": settings.replace}
    return SonicTarget(store, plan, list(settings.interface), name, carried=carried, **options)


def _linux(plan: QueuePlan, settings: DeploySettings) -> DeployTarget:
    from offramp.hermod.deploy.linux.guard import GuardTarget
    from offramp.hermod.deploy.linux.several import HostTarget, LinuxTargets
    from offramp.hermod.deploy.linux.target import LinuxTarget

    limits: dict[str, Any] = {
        "kind": settings.qdisc,
        "rate_bps": settings.rate_bps,
        "control": settings.control_share,
        "lowest": settings.lowest_share,
        "police": dict(settings.police),
    }
    targets: list[HostTarget] = []
    for interface in settings.interface:
        queues = LinuxTarget(interface, plan, **limits)
        guard = GuardTarget(interface, plan, list(settings.job_cgroup))
        looks = settings.action in ("undo", "read_back", "check")
        if settings.job_cgroup or (looks and guard.state() is not None):
            targets.append(guard)
        targets.append(queues)
    return targets[0] if len(targets) == 1 else LinuxTargets(targets)
