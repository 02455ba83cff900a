# SPDX-License-Identifier: Apache-2.0
"""``offramp nic bench``: SwitchGNN's frames per second, by the agent and in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, SettingsError
from offramp_base.settings.check import check
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from offramp_sim.nic import NicRate

METHOD = (
    "One worker of SwitchGNN, from features to sums, with frames of 178 bytes both ways; the peer answers at once. "
    "Python: NumPy and packet sockets, as in training, without compiled code of its own. testpmd: flowgen against "
    "macswap, frames of the same length. veth: packet sockets, through the kernel; memif: memory shared by two "
    "processes; loop: rings in one process, the peer on the same core. The best of the rounds. CPU: processor time per "
    "frame, of the worker's process and the agent."
)


def _links() -> list[str]:
    from offramp_sim.nic.links import LINKS

    return list(LINKS)


def _choices() -> dict[str, str]:
    from offramp_sim.nic import scaling

    queued = [link for link in _links() if link in scaling.LINKS]
    alone = {link: "not with queues" for link in _links() if link not in queued}
    return alone | dict.fromkeys(queued, "") | {link: "with queues" for link in scaling.LINKS if link not in queued}


@dataclass(frozen=True)
class NicBenchSettings:
    """Settings of the measurement."""

    link: Annotated[
        tuple[str, ...], Field("Links; repeatable", short="-l", choices=_choices, shown_default="all of them")
    ] = ()
    seconds: Annotated[float, Field("Seconds of each measurement", least=0)] = 2.0
    rounds: Annotated[int, Field("Measurements of each kind, alternating", least=1)] = 3
    vertices: Annotated[int, Field("Vertices of the graph, all in one block", least=10)] = 4000
    seed: Annotated[int, Field("Random seed for graph and features", least=0)] = 0
    queues: Annotated[
        int,
        Field("Instead: compare one queue on one core with this many, each with its own worker", least=1, most=8),
    ] = 1
    cores: Annotated[int, Field("With --queues: cores of the agent", least=1)] = 2
    first: Annotated[bool, Field("With --queues: run ahead of other processes (nice -20)")] = False

    def __post_init__(self) -> None:
        check(self)
        for link, when in _choices().items():
            if link in self.link and when == "with queues" and self.queues == 1:
                raise SettingsError("link", "goes with {queues} 2 and more only", link)
            if link in self.link and when == "not with queues" and self.queues > 1:
                raise SettingsError("link", "does not go with {queues}", link)


@command(NicBenchSettings, Result, example="nic bench --link veth --json -")
def bench(settings: NicBenchSettings, result: Result) -> None:
    """Measure the agent beside the transport in Python and DPDK's testpmd, in one run (root: network namespaces)."""
    from rich.progress import track

    from offramp_sim.nic.bench import WAYS, measure
    from offramp_sim.nic.testpmd import NoRateError

    if settings.queues > 1:
        _bench_queues(settings, result)
        return
    links = settings.link or _links()
    best: dict[tuple[str, str], NicRate] = {}
    cases = [("veth", "python")] + [(one, way) for one in links for way in WAYS if way != "python"]
    unknown: dict[str, str] = {}
    for one, way in track(cases * settings.rounds, "measuring", transient=True):
        if way == "testpmd" and one in unknown:
            continue  # each try waits half a minute for a report
        try:
            measured = measure(one, way, settings.seconds, settings.seed, settings.vertices)
        except NoRateError as error:
            unknown[one] = str(error)
            continue
        if (one, way) not in best or measured.frames_per_s > best[one, way].frames_per_s:
            best[one, way] = measured
    unknown = {one: reason for one, reason in unknown.items() if (one, "testpmd") not in best}
    _show(list(best.values()), unknown)
    numbers = [
        {**rate._asdict(), "frames_per_s": rate.frames_per_s, "cpu_ns_per_frame": rate.cpu_ns_per_frame}
        for rate in best.values()
    ]
    result.write("offramp.nic.bench/1", {"method": METHOD, "rates": numbers, "limits_unknown": unknown})


def _bench_queues(settings: NicBenchSettings, result: Result) -> None:
    """Measure one queue and several, alternating; medians, and the range of ratios of neighbouring measurements."""
    import statistics

    from rich.progress import track

    from offramp_sim.nic import ScalingCase, measure_queues
    from offramp_sim.nic.scaling import LINKS

    cases = ScalingCase(1, 1), ScalingCase(settings.queues, settings.cores)
    links: list[dict[str, object]] = []
    shown = show.table("link", "by", "thousand frames/s", "times", "least", "most", left=("link", "by"))
    for link in [each for each in settings.link or LINKS if each in LINKS]:
        rates: list[list[float]] = [[], []]
        for _ in track(range(settings.rounds), f"measuring {link}", transient=True):
            for case, into in zip(cases, rates, strict=True):
                rate = measure_queues(link, case, settings.seconds, vertices=settings.vertices, first=settings.first)
                into.append(rate)
        ratios = [many / one for one, many in zip(*rates, strict=True)]
        medians = [statistics.median(each) for each in rates]
        shown.add_row(link, str(cases[0]), f"{medians[0] / 1e3:,.0f}", "", "", "")
        times = [statistics.median(ratios), min(ratios), max(ratios)]
        shown.add_row(link, str(cases[1]), f"{medians[1] / 1e3:,.0f}", *(f"{each:.2f}" for each in times))
        links.append({"link": link, "cases": [case._asdict() for case in cases], "rates": rates, "ratios": ratios})
    show.console(wrap=False).print(shown)
    result.write("offramp.nic.bench_queues/1", {"links": links})


def _show(rates: list[NicRate], unknown: dict[str, str]) -> None:
    python = rates[0]
    limits = {rate.link: rate.frames_per_s for rate in rates if rate.way == "testpmd"}
    numbers = ("rate", "times Python", "of testpmd", "CPU, ns", "host", "times less")
    title = "thousand frames per second, both ways"
    shown = show.table("link", "by", *numbers, left=("link", "by"), title=title)
    for rate in rates:
        shown.add_row(
            rate.link,
            rate.way,
            f"{rate.frames_per_s / 1e3:,.0f}",
            f"{rate.frames_per_s / python.frames_per_s:.1f}",
            f"{rate.frames_per_s / limits[rate.link]:.0%}" if rate.link in limits else "",
            f"{rate.cpu_ns_per_frame:,.0f}",
            f"{rate.host_ns / rate.frames:,.0f}",
            f"{python.cpu_ns_per_frame / rate.cpu_ns_per_frame:.1f}",
        )
    out = show.console(wrap=False)
    out.print(shown)
    for link, reason in unknown.items():
        out.print(f"{link}: no limit to compare with: {reason}")
    out.print(METHOD)
