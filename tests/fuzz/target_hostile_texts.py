# SPDX-License-Identifier: Apache-2.0
"""Hostile texts in every string of every file; what the readers take goes into every command, page and script.

``HERE`` are formats whose contents go on to such places; ``OTHERS`` are targets whose cases are read with hostile texts
as their words. Nothing of them may be executed, written outside the folder, or served raw.
"""

from __future__ import annotations

import io
import json
import random
import shlex
import zlib
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

import cluster_samples
import hostile_texts
from fuzzing import mutate, render
from fuzzing.target import FOLDER, Target, load
from hostile_sinks import (
    Watch,
    check_command,
    check_line,
    check_metrics,
    check_page,
    check_script,
    check_shown,
)
from hostile_writers import WRITERS
from offramp.cluster import Cluster, parse_cluster, read_cluster
from offramp.cluster.formats import EXPORTS, IMPORTS, Defaults, export_cluster, import_cluster
from offramp.cluster.reach import command_on
from offramp.cluster.write import cluster_text
from offramp.job.settings import JobSettings
from offramp_base import documents
from offramp_base.errors import OfframpError
from offramp_base.settings import source

NAME = "hostile texts in every format, and where they go"
MEMORY_MIB = 8192
LIMIT_S = 30.0
_HERE = Path()
_CLUSTER: dict[str, Any] = {
    "name": "racks",
    "hosts": [
        {"name": "h1", "address": "10.1.0.1", "reach": "ssh", "known_hosts": "keys", "mac": "02:00:00:00:00:01"},
        {
            "name": "h2",
            "reach": "srun",
            "agents": [{"name": "nic0", "interface": "eth0", "socket": "/run/nic.sock"}],
            "cards": [{"name": "fpga0", "device": "fpga:"}],
            "hardware": "off-path",
        },
        {"name": "h3", "reach": "local"},
    ],
    "switches": [
        {"name": "leaf", "control": "10.0.0.1:9559", "reach": "ssh", "interface": "Ethernet{port}", "ca": "ca.pem"},
        {"name": "spine", "target": "sonic", "cert": "c.pem", "key": "k.pem"},
    ],
    "links": [
        {"ends": ["h1:eth0", "leaf:1"], "rate": "1gbit", "delay": "10us"},
        {"ends": ["h[2-3]", "leaf"], "rate": "1gbit"},
        {"ends": ["leaf", "spine"], "rate": "10gbit"},
    ],
    "failures": [{"link": ["leaf", "spine"], "at": "1ms", "until": "2ms"}],
    "routing": "ecmp",
}
_JOB = {
    "name": "job",
    "command": ["python", "train.py"],
    "hosts": "h[1-3]",
    "environment": ["A=b"],
    "all_reduce": "1MB",
}
_MACHINE = {"name": "a", "address": "host", "cpu": 8, "gpu": 2, "memory": "48GB", "network": "10Gbps"}
_SETUP = {
    "machines": [_MACHINE, {**_MACHINE, "name": "b", "address": "10.0.0.2"}],
    "tasks": [{"name": "read", "home": "b", "seconds": 1}, {"name": "crunch", "seconds": 2, "cpu": 4}],
    "edges": [{"from": "read", "to": "crunch", "bytes": "1GB"}],
}
_TRACE = {
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "rank 0"}},
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": "1", "args": {"name": "host"}},
        {"ph": "X", "name": "step 1", "cat": "computing", "pid": 0, "tid": "1", "ts": 0, "dur": 10},
        {"ph": "X", "name": "gemm", "cat": "waiting", "pid": 0, "tid": "1", "ts": 2, "dur": 4},
    ]
}
_OUTCOME: dict[str, Any] = {
    "name": "gnn",
    "title": "A title",
    "question": "Which?",
    "verdict": {"answer": "yes", "sentence": "This one."},
    "step": "epoch",
    "alternatives": [
        {"name": "gloo", "predicted_s": 1.0, "measured_s": [1.0], "note": "plain", "bound": "links", "curve": []},
        {"name": "switch", "predicted_s": 0.5, "measured_s": [], "note": "fast", "taken": True, "curve": []},
    ],
    "fabric": {
        "nodes": [{"name": "h1", "role": "host", "rack": "r"}, {"name": "s", "role": "switch", "rack": "r"}],
        "links": [{"ends": ["h1", "s"], "rate_bps": 100, "bytes_by": {"gloo": [1, 2], "switch": [1, 1]}}],
    },
    "checks": [{"claim": "One is one.", "holds": True}],
    "trace": "",
    "notes": ["a note"],
    "seconds": 1.0,
}
_REPORT = {"title": "t", "summary": "s", "command": "c", "advice": "a", "origin": "o", "cell": "x", "note": "n"}
OTHERS = (
    *("arguments", "bmv2_json", "chakra", "clusters", "coflow_jobs", "datasets", "dgl", "documents", "edge_lists"),
    *("leo_config", "msccl", "networks", "p4info", "placements", "switch_files", "stf", "archives"),
)
SELDOM = 16
"""One document in so many goes the dear ways too: tables on a terminal, all exports, the loader in Python."""
_DEAR = (
    *("look", "imported", "sonic", "tuner", "archives", "bmv2_json", "datasets", "dgl", "edge_lists", "leo_config"),
    *("msccl", "p4info", "stf"),
)
_WATCH: list[Watch] = []
_CLUSTERS: list[Cluster] = []
_BOUNDED = documents.BoundedLoader
_OTHERS: dict[str, Target] = {}


def prepare() -> None:
    """Everything that a case imports, before files are watched."""
    from offramp.dgtp.launch import export
    from offramp.dgtp.setup_file import parse_setup
    from offramp.report.timeline import timeline
    from offramp_cli.job.top import _shown

    del export, parse_setup, timeline, _shown
    mutate.WORDS = hostile_texts.TEXTS
    documents.BoundedLoader = source.BoundedLoader = _loader  # type: ignore[assignment,misc]
    _WATCH.append(Watch())
    _CLUSTERS.append(parse_cluster(yaml.safe_dump(_CLUSTER)))
    for part in HERE.values():  # once without a watch: modules are imported, caches filled
        for seed in range(2):
            with suppress(OfframpError):
                part(random.Random(seed))


def run(rng: random.Random) -> None:
    """One file, and everywhere that its contents go."""
    part: Any
    allowed: tuple[type[BaseException], ...] = ()
    name = rng.choices(_NAMES, _WEIGHTS)[0]
    if name in HERE:
        part = HERE[name]
    else:
        target = _other(name)
        part, allowed = target.run, target.allowed
    with _WATCH[0].watching(), suppress(OfframpError, *allowed):
        part(rng)


def _loader(text: str) -> documents.BoundedLoader | documents.LongLoader:
    """Most documents are read by libyaml, ten times as fast, and some by the loader that reads them otherwise."""
    fast = len(text) > documents.MOST_BYTES or zlib.crc32(text.encode("utf-8", "replace")) % SELDOM
    return documents.LongLoader(text) if fast else _BOUNDED(text)


def _other(name: str) -> Target:
    """Another target, prepared when its first case comes."""
    if name not in _OTHERS:
        _OTHERS[name] = load(FOLDER / f"target_{name}.py")
        _OTHERS[name].prepare()
    return _OTHERS[name]


def _document(rng: random.Random, tree: Any, form: str) -> bytes:
    hostile = hostile_texts.in_tree(rng, tree) if rng.random() < 0.95 else tree
    text = {"yaml": render.to_yaml, "toml": render.to_toml, "json": render.to_json}[form](hostile)
    return text.encode("utf-8", "surrogatepass")


def cluster(rng: random.Random) -> None:
    """A cluster file, YAML or TOML."""
    form = rng.choice(("yaml", "toml"))
    _everywhere(rng, read_cluster(render.write(_HERE / f"c.{form}", _document(rng, _CLUSTER, form))))


def imported(rng: random.Random) -> None:
    """Files of another program, with its notes on a terminal."""
    kind = rng.choice(list(IMPORTS))
    texts = list(cluster_samples.SAMPLES[kind])
    changed = rng.randrange(len(texts))
    texts[changed] = hostile_texts.in_text(rng, texts[changed])
    paths = [render.write(_HERE / f"other{k}", text.encode()) for k, text in enumerate(texts)]
    console, output = _console()
    _everywhere(rng, import_cluster(kind, paths, Defaults(flat=rng.random() < 0.5, note=console.print)))
    check_shown(output.getvalue())


def _everywhere(rng: random.Random, cluster: Cluster) -> None:
    """Commands on its nodes, its own text and those of other programs, pages, metrics and tables."""
    from offramp.job.counters import interfaces_of
    from offramp.job.metrics import metrics
    from offramp.job.network import interface
    from offramp.job.watch import Look, SwitchLook, WayLook, as_json
    from offramp_cli.cluster.show import _print
    from offramp_cli.job.top import _shown

    for node in (*cluster.hosts, *cluster.switches):
        if node.reach in ("ssh", "srun"):
            check_command(command_on(node, ["ip", "a b", "$(x)"], {"MASTER_ADDR": node.where}))
            interfaces_of(node)  # the watch sees what it starts
    for host in cluster.hosts:
        name = interface(cluster, host)
        check_line(f"neigh replace {host.address} lladdr {host.mac} dev {name} nud permanent")
        check_line(" ".join(f"address add {agent.interface}" for agent in host.agents))
    assert parse_cluster(cluster_text(cluster)).hosts == cluster.hosts
    dear = rng.randrange(SELDOM) == 0
    for kind in EXPORTS if dear else (rng.choice(list(EXPORTS)),):
        with suppress(OfframpError):
            text = export_cluster(kind, cluster)
            check_shown(text)
            for node in (_parsed(text).get("topology") or {}).get("nodes", {}).values():
                for line in node.get("exec", ()) if isinstance(node, dict) else ():
                    check_line(line)
    now = Look(
        1.0,
        {host.name: (1, 2) for host in cluster.hosts},
        {each.name: SwitchLook(True, 3, {1: 2}, {"completed": 1}, {"1/2": {"sent": 1}}) for each in cluster.switches},
        {},
        plan={"gloo": WayLook(True, 1.0, None, cluster.name)},
    )
    check_metrics(metrics(cluster, now))
    json.loads(json.dumps(as_json(cluster, now, None)))
    if dear:
        console, output = _console()
        _print(console, cluster)
        console.print(_shown(cluster, now, None))
        check_shown(output.getvalue())


def job(rng: random.Random) -> None:
    """A job file: its program runs by design, as words; nothing else may."""
    settings = JobSettings.read(render.write(_HERE / "job.yaml", _document(rng, _JOB, "yaml")))
    for host in settings.hosts_of(_CLUSTERS[0]):
        if host.reach == "ssh":
            words = command_on(host, settings.command, dict(each.split("=", 1) for each in settings.environment))
            remote = words.pop()
            assert shlex.split(remote)[-len(settings.command) :] == list(settings.command)
            check_command([*words, "true"])
    console, output = _console()
    console.print(settings.name, *settings.command)
    check_shown(output.getvalue())


def placement(rng: random.Random) -> None:
    """Machines and tasks, and the scripts that start them."""
    import numpy as np

    from offramp.dgtp.launch import export
    from offramp.dgtp.plan import make_plan, read_plan
    from offramp.dgtp.setup_file import parse_setup

    in_plan = rng.random() < 0.5
    tree = _SETUP if in_plan else hostile_texts.in_tree(rng, _SETUP)
    setup = parse_setup(render.to_yaml(tree))
    machine = np.array([1, *[0] * (len(setup.problem.graph.tasks) - 1)])
    plan = make_plan(setup.problem, machine, {"seconds": 1.0})
    if in_plan:
        document = _document(rng, json.loads(json.dumps(plan.as_json())), "json")
        plan = read_plan(render.write(_HERE / "plan.json", document))
    for path in export(plan, _HERE / "exported"):
        if path.name != "plan.json":
            check_script(path.read_text("utf-8"))
        path.unlink()


def trace(rng: random.Random) -> None:
    """A trace of a step, drawn on a page."""
    from offramp.report.timeline import timeline

    check_page(timeline(render.write(_HERE / "trace.json", _document(rng, _TRACE, "json"))))


def outcome(rng: random.Random) -> None:
    """The outcome of a job, as a page; its strings come from names, plans and logs."""
    from offramp.report import Outcome, outcomes_page

    data = hostile_texts.in_tree(rng, _OUTCOME)
    with suppress(TypeError, KeyError):  # a field's name was changed
        data["verdict"]["answer"], data["step"] = "yes", "epoch"  # the code's own words
        for node, role in zip(data["fabric"]["nodes"], ("host", "switch"), strict=True):
            node["role"] = role
        outcomes = [Outcome.from_dict(data)]
        check_page(outcomes_page(*(hostile_texts.text(rng) for _ in range(2)), outcomes, "c", hostile_texts.text(rng)))


def report(rng: random.Random) -> None:
    """A report of training runs, as a page."""
    from offramp.report import Report, ReportCheck, ReportTable
    from offramp.report.model import Note, TrainingRun
    from offramp.report.page import render as rendered
    from offramp.train.results import Epoch, SwitchTotals, TrainingResult
    from offramp.workers.traffic import Traffic

    settings = {"graph_name": hostile_texts.text(rng), hostile_texts.text(rng): 1}
    numbers = ("loss", "train_accuracy", "val_accuracy", "test_accuracy", "seconds")
    numbers += ("communication_seconds", "reduction_seconds")
    epochs = [Epoch(epoch=n, **dict.fromkeys(numbers, 0.5)) for n in (1, 2)]
    links = [Traffic(1000, 900, 1500, 1400, 8, 7)] * 2
    result = TrainingResult(settings, epochs, 1.0, links, SwitchTotals()).as_dict()
    words = {name: hostile_texts.text(rng, each) for name, each in _REPORT.items()}
    table = ReportTable(words["title"], [words["cell"]], [[words["cell"]]], words["note"])
    check_page(
        rendered(
            Report(
                words["title"],
                words["summary"],
                [TrainingRun(words["cell"], result)],
                words["command"],
                [ReportCheck(words["note"], True)],
                [table],
                [Note(words["title"], words["note"])],
                words["advice"],
                words["origin"],
            )
        )
    )


def look(rng: random.Random) -> None:
    """What switches, agents, ranks and plans say of themselves while a job runs."""
    from offramp.job.metrics import metrics
    from offramp.job.watch import WayLook
    from offramp_cli.job.top import _shown
    from watched import full_look

    now = full_look(3)
    now.links.pop("h4")
    now.plan[hostile_texts.text(rng)] = WayLook(True, 1.0, 2.0, hostile_texts.text(rng))
    now.paths[0][hostile_texts.text(rng)] = 3
    now.switches["leaf1"].verdicts[hostile_texts.text(rng)] = 4
    now.agents[hostile_texts.text(rng)] = now.agents["h1/nic"]
    check_metrics(metrics(_CLUSTERS[0], now))
    json.loads(json.dumps(asdict(now)))
    console, output = _console()
    console.print(_shown(_CLUSTERS[0], now, None))
    check_shown(output.getvalue())


def _parsed(text: str) -> Any:
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # a subclass of SafeLoader


def _console() -> tuple[Any, io.StringIO]:
    from offramp_cli.plain_console import PlainConsole

    output = io.StringIO()
    return PlainConsole(file=output, width=200), output


HERE = {each.__name__: each for each in (cluster, imported, job, placement, trace, outcome, report, look)} | WRITERS
_NAMES = [*HERE, *OTHERS]
_WEIGHTS = [1 if name in _DEAR else SELDOM for name in _NAMES]
