# SPDX-License-Identifier: Apache-2.0
"""LEO's four applications (figures 6.10 to 6.13) on the queue model, with the configurations that ship with Offramp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import mean
from typing import Final

from offramp.leo.config import load_config, resolve
from offramp.leo.config.files import parse_config
from offramp.leo.selection.policies import Policy
from offramp.leo.selection.steps import Routes
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.leo.load import RequestLoad
from offramp_sim.leo.nccl import NcclRing
from offramp_sim.leo.simulate import PathRule, simulate
from offramp_sim.leo.sustained import sustained_mrps
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, reproduces, simulated
from offramp_sim.reproduce.table import ItemTable

_CORES = [1, 2, 4, 8]
_RATES = [0.5, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0]
_CUT_US = 40.0
RULES: Final = {
    "LEO": PathRule(),
    "LEO, equation 6.5": PathRule(Policy.PAPER_LITERAL),
    "greedy": PathRule(Policy.GREEDY_INTRA),
}
"""The same paths by our rule, by the published one as printed, and by the times seen last."""


def _routes(model: str, application: str, cores: int = 1) -> Routes:
    return resolve(load_config([model, application]).with_cores(cores)).routes


@reproduces(
    "leo/fig6.10",
    "Key-value store: latency against the rate",
    seconds=10,
    evidence=Evidence.FITTED,
    source="the published knees of the curves, from which the times of look-ups follow",
)
def figure610(scale: float, seed: int) -> Reproduction:
    """Key-value store: median latency against the rate, YCSB-C and YCSB-B."""
    routes = _routes("off-path", "kvs")
    systems = {
        "DrTM-KV (CPU)": (routes.restricted({"GET": ["cc+cc"]}), PathRule()),
        "LEO, one path": (routes.restricted({"GET": ["ca+cc"]}), PathRule()),
        **{name: (routes, rule) for name, rule in RULES.items()},
    }
    requests = max(2000, round(20_000 * scale))
    published = {"YCSB-C": ("1.2 to 2", "~1.5"), "YCSB-B": ("up to 3", "up to 3")}
    comparisons, panels, data = [], [], {}
    for name, mix in counted("workloads", [("YCSB-C", (1.0, 0.0)), ("YCSB-B", (0.95, 0.05))]):
        load = RequestLoad(requests, mix=mix, keys=1_000_000)
        lines, rates = {}, {}
        for system, (ways, rule) in systems.items():
            runs = [simulate(ways, _at(load, rate), rule, seed=seed).median_us for rate in _RATES]
            lines[system] = (_RATES, [min(us, _CUT_US) for us in runs])
            rates[system] = sustained_mrps(ways, load, rule, seed, factor=2.0)
        panels.append(Curves(f"{name}, cut at {_CUT_US:g} us", "Mrps offered", "median, us", lines))
        data[name] = rates
        cpu, one, leo, printed, greedy = rates.values()
        more, single = published[name]
        comparisons += [
            PaperComparison(
                f"{name}: sustained Mrps, DrTM-KV, one path, LEO", None, f"{cpu:.2f}, {one:.2f}, {leo:.2f}"
            ),
            PaperComparison(
                f"{name}: LEO over one path", "1.2 to 2" if name == "YCSB-C" else "highest", f"{leo / one:.2f}"
            ),
            PaperComparison(f"{name}: LEO over DrTM-KV", more if name == "YCSB-B" else "1.2 to 2", f"{leo / cpu:.2f}"),
            PaperComparison(f"{name}: one path over DrTM-KV", single, f"{one / cpu:.2f}"),
            PaperComparison(
                f"{name}: equation 6.5, greedy over one path", None, f"{printed / one:.2f}, {greedy / one:.2f}"
            ),
        ]
    note = (
        "Index look-ups of 0.2 us on the accelerator and 0.3 us on the CPU, as the published knees tell; sustained: "
        "mean intra-host JCT below twice the idle one. The rates allow for 8.33 / 5 = 1.67 and 8.33 / 3.33 = 2.5."
    )
    return Reproduction(comparisons, panels, {"requests": requests, "keys": 1_000_000}, note, {"sustained": data})


def _at(load: RequestLoad, rate: float) -> RequestLoad:
    return RequestLoad(load.requests, rate, mix=load.mix, keys=load.keys)


def _against_cores(
    model: str,
    application: str,
    mix: tuple[float, ...],
    systems: dict[str, PathRule],
    load: RequestLoad,
    seed: int,
    in_flight: Callable[[int], int],
) -> dict[str, tuple[list[int], list[float]]]:
    """Million requests per second of closed loops with so many requests in flight, by system and number of cores."""
    lines: dict[str, tuple[list[int], list[float]]] = {name: (_CORES, []) for name in systems}
    for cores in _CORES:
        routes = _routes(model, application, cores)
        for name, rule in systems.items():
            closed = replace(load, window=in_flight(cores), mix=mix)
            lines[name][1].append(simulate(routes, closed, rule, seed=seed).throughput_mrps)
    return lines


@simulated(
    "leo/fig6.11",
    "Distributed file system against cores",
    seconds=1,
    options={"window": (16, 4, 64), "spread": (0.0, 1.0)},
)
def figure611(scale: float, seed: int, *, window: int = 16, spread: float = 0.0) -> Reproduction:
    """Distributed file system: compressed chunks written, against cores of both hosts."""
    names = _routes("off-path", "dfs").paths
    systems = {"DOCA": PathRule(only=names.index("aa")), "CPU": PathRule(only=names.index("cc")), **RULES}
    load = RequestLoad(max(400, round(4000 * scale)), window=window, spread=spread)
    lines = _against_cores("off-path", "dfs", (), systems, load, seed, lambda cores: window + 4 * cores)
    single = _against_cores("off-path", "dfs", (), systems, load, seed, lambda cores: cores)
    gbps = {name: (xs, [mrps * 1e6 * 256_000 * 8 / 1e9 for mrps in ys]) for name, (xs, ys) in lines.items()}

    def over(rule: str, rates: dict[str, tuple[list[int], list[float]]], points: int) -> str:
        pairs = [
            pair for name in ("DOCA", "CPU") for pair in zip(rates[rule][1][:points], rates[name][1], strict=False)
        ]
        ratios = [ours / other for ours, other in pairs]
        return f"{min(ratios):.2f} to {max(ratios):.2f}"

    comparisons = [
        *(
            PaperComparison(f"{rule} over DOCA and CPU", "1.19 to 4.69", over(rule, lines, len(_CORES)))
            for rule in RULES
        ),
        *(
            PaperComparison(f"{rule}, one file in flight a core, 1 and 2 cores", "1.19 to 4.69", over(rule, single, 2))
            for rule in RULES
        ),
        PaperComparison(
            "compression of 1 MB: DOCA, a core",
            "2.18, 0.89 ms",
            "2.18, 0.89 ms",
            evidence=Evidence.ASSUMED,
            source="the thesis",
        ),
    ]
    for name, (_, ys) in gbps.items():
        comparisons.append(
            PaperComparison(f"{name}: Gb/s of files with 1 to 8 cores", None, ", ".join(f"{y:.1f}" for y in ys))
        )
    note = (
        "With c cores LEO can give 1 + 2.45 c times DOCA and 1 + 0.41 / c times the CPU: the published gains fit "
        "one and two cores, and few files in flight. Decompression is assumed to take 0.24 ms a MB on a core and "
        "0.4 ms on the accelerator."
    )
    panel = Curves("256 KB chunks, both ways on either device", "cores", "Gb/s of files", gbps)
    return Reproduction(comparisons, [panel], {"requests": load.requests}, note, {"mrps": lines})


@reproduces(
    "leo/fig6.12",
    "Elastic block storage against cores",
    seconds=1,
    evidence=Evidence.FITTED,
    source="the published gains of LEO, from which the times of look-ups follow",
)
def figure612(scale: float, seed: int) -> Reproduction:
    """Elastic block storage: throughput of 64 KB reads and IOPS of 4 KB reads, against cores."""
    names = _routes("on-path", "ebs").paths
    systems = {
        "CPU": PathRule(only=names.index("cc")),
        "Solar": PathRule(only=names.index("ac")),
        "iPipe": PathRule(Policy.IPIPE),
        **RULES,
    }
    load = RequestLoad(max(1000, round(10_000 * scale)), window=24)
    comparisons, panels, data = [], [], {}
    for what, mix, unit, factor, published in counted(
        "sizes",
        [
            ("64 KB", (0.0, 1.0), "Gb/s", 65536 * 8 / 1e3, ("1.14 to 1.75", "1.04 to 1.25")),
            ("4 KB", (1.0, 0.0), "million IOPS", 1.0, ("1.1 to 1.9", "1.19 to 1.71")),
        ],
    ):
        lines = _against_cores("on-path", "ebs", mix, systems, load, seed, lambda cores: load.window + 4 * cores)
        data[what] = lines
        scaled = {name: (xs, [y * factor for y in ys]) for name, (xs, ys) in lines.items()}
        panels.append(Curves(f"{what} reads", "cores", unit, scaled))
        for better, printed in zip(("LEO", "iPipe", *list(RULES)[1:]), (*published, None, None), strict=True):
            ratios = [a / b for a, b in zip(lines[better][1], lines["Solar"][1], strict=True)]
            text = f"{min(ratios):.2f} to {max(ratios):.2f}"
            comparisons.append(PaperComparison(f"{what}: {better} over Solar", printed, text))
    note = (
        "The thesis does not give the times of the look-ups: 0.5 us on the accelerator and 4.5 us on a core are "
        "assumed for 4 KB, 9.2 us and 64 us for 64 KB. iPipe moves when an end-to-end time exceeds an idle path's."
    )
    return Reproduction(comparisons, panels, {"requests": load.requests}, note, {"mrps": data})


_ALLREDUCE = """\
paths:
  - {{id: aa, type: Acc-Acc, requester: [AN]}}
  - {{id: cc, type: CPU-CPU}}
application:
  name: dml
  requests:
    REDUCE:
      dataflows: [[aa], [cc]]
      size: {{aa: {{req: {size}, resp: {size}}}, cc: {{req: {size}, resp: {size}}}}}
      compute_us: {{requester: {{cpu: 0, acc: 0}}, responder: {{cpu: {cpu}, acc: {acc}}}}}
"""


@simulated(
    "leo/fig6.13",
    "All-reduce against size",
    seconds=1,
    options={
        "window": (16, 4, 64),
        "spread": (0.0, 1.0),
        "cpu_bytes_per_us": (4000, 1000, 20_000),
        "nccl_channels": (2, 1, 8),
    },
)
def figure613(
    scale: float,
    seed: int,
    *,
    window: int = 16,
    spread: float = 0.0,
    cpu_bytes_per_us: int = 4000,
    nccl_channels: int = 2,
) -> Reproduction:
    """All-reduce: throughput against size, over one path, over both, and by NCCL's ring as queues."""
    from offramp.leo.config.files import builtin

    chunk, hardware = 262_144, builtin("direct").read_text(encoding="utf-8")
    sizes = [4**k * 4096 for k in range(10)]
    rules = {"CPU (OpenMPI)": PathRule(only=1), "accelerator": PathRule(only=0), **RULES}

    near = NcclRing(channels=nccl_channels)
    rings = {"NCCL": near, "NCCL through main memory": replace(near, bus_bps=near.bus_bps / 2)}

    def run(size: int) -> dict[str, float]:
        piece = min(size, chunk)
        text = hardware + _ALLREDUCE.format(size=piece, cpu=0.5 + piece / cpu_bytes_per_us, acc=0.5 + piece / 50_000)
        routes = resolve(parse_config(text)).routes
        pieces = max(1, min(size // piece, round(2000 * scale)))
        load = RequestLoad(pieces, window=min(pieces, window), spread=spread)
        ended = {name: simulate(routes, load, rule, seed=seed).ended for name, rule in rules.items()}
        rates = {name: pieces * piece * 8 / float(times.max()) for name, times in ended.items()}
        return rates | {name: size * 8e-9 / each.seconds(size) for name, each in rings.items()}

    table = ItemTable.sweep("sizes", sizes, run)
    ratios, slow = ([row["LEO"] / row[other] for row in table.values()] for other in ("accelerator", "CPU (OpenMPI)"))
    named = ItemTable({f"{n // 1024} KB" if n < 1 << 20 else f"{n >> 20} MB": row for n, row in table.items()})
    lines = named.lines()
    comparisons = [
        *(
            PaperComparison(
                f"LEO over {name}, average",
                "4.08" if name == "NCCL" else None,
                f"{mean([row['LEO'] / row[name] for row in table.values()]):.2f}",
                turns_at=1.0,
            )
            for name in rings
        ),
        PaperComparison("LEO over the accelerator alone", None, f"{min(ratios):.2f} to {max(ratios):.2f}"),
        PaperComparison("LEO over the CPU alone", "clearly above from 1 MB", f"{min(slow):.2f} to {max(slow):.2f}"),
    ]
    panel = Curves(f"chunks of up to 256 KB, {window} at a time", "", "Gb/s", lines, bars=True)
    note = (
        "The queue model shows what a second path adds. NCCL's ring of two ranks is one of queues with its sources' "
        "slots, chunks, protocols and times over 100 Gb/s; LEO's paths have no network. The card's buffers are reached "
        "over PCIe, or twice through main memory. The published factor of 4 is not in these queues."
    )
    return Reproduction(comparisons, [panel], {"chunk": chunk}, note, {"gbps": lines})
