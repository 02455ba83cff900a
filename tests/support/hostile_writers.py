# SPDX-License-Identifier: Apache-2.0
"""Writers of files for other programs, each fed with files in which some strings are hostile.

SONiC's tables and patches, batches of tc, NCCL's plug-ins, MSCCL's programs, traces for Perfetto, a job's report.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import hostile_texts
import sonic_configs
from fuzzing import render
from hostile_sinks import HostileAction, check_line, check_page, check_shown
from offramp.hermod.deploy.linux.host import settings
from offramp.hermod.deploy.linux.target import LinuxTarget
from offramp.hermod.deploy.linux.tc import Tc
from offramp.hermod.deploy.sonic.files import SonicFiles
from offramp.hermod.deploy.sonic.target import SonicTarget
from offramp.hermod.plan_file import read_plan
from offramp.job import steps
from offramp.leo import hops
from offramp.report.timeline import timeline
from offramp.themis.msccl import read_program, to_xml
from offramp.themis.msccl.document import parse
from offramp.themis.network_file import load_network
from offramp.themis.tuner import tuner_choices, tuner_source
from offramp_base.errors import OfframpError

_HERE = Path()
_PRIORITY = {"code": 0, "dscp": 8, "queue": 1, "micro_batches": [0], "types": ["DP"], "layers": []}
_PLAN: dict[str, Any] = {
    "job": {"model": "m"},
    "queues": 2,
    "classes": 1,
    "control": [48],
    "priorities": [_PRIORITY],
    "dscp_to_queue": [int(dscp == 8) for dscp in range(64)],
}
_NETWORK = {
    "name": "pod",
    "dimensions": [
        {"type": "switch", "size": 4, "rate": "1200gbit", "latency": "700ns"},
        {"type": "ring", "size": 2, "rate": "200gbit"},
    ],
}
_PROGRAM = (
    '<algo name="pair" nchunksperloop="2" nchannels="1" proto="Simple" ngpus="2" coll="allreduce" inplace="1"'
    ' minBytes="0" maxBytes="1048576" outofplace="0">'
    + "".join(
        f'<gpu id="{k}" i_chunks="2" o_chunks="0" s_chunks="0"><tb id="0" send="{1 - k}" recv="{1 - k}" chan="0">'
        "</tb></gpu>"
        for k in range(2)
    )
    + "</algo>"
)
_STEP = {"step": 1, "what": "step", "begin_ns": 5, "end_ns": 9}
_STEPS = [_STEP, {**_STEP, "what": "all_reduce by switch", "track": "collectives"}]
_MOMENTS = [{"boot": "b"}, *({"at_ns": at, "where": f"place {at}", "note": {"key": "value"}} for at in (2, 4, 6))]
_WAY = {"offload": "switch", "taken": True, "why": "fast", "model_s": 1.0, "correction": None}
_CONTENT: dict[str, Any] = {
    "job": {"name": "job"},
    "taken": "switch",
    "when": "2026-11-01T00:00:00Z",
    "error": None,
    "command": "offramp job run job.yaml",
    "cluster": "name: racks",
    "origin": "here",
    "plan": [_WAY, {**_WAY, "offload": "gloo", "taken": False}],
    "checks": [{"claim": "One is one.", "holds": True}],
    "outcome": {
        "name": "job",
        "title": "A job",
        "question": "Which?",
        "verdict": {"answer": "yes", "sentence": "This one."},
        "step": "step",
        "alternatives": [
            {"name": name, "predicted_s": 1.0, "measured_s": [1.0], "note": "fast", "curve": [], "taken": taken}
            for name, taken in (("switch", True), ("gloo", False))
        ],
        "fabric": None,
        "checks": [],
        "trace": "",
        "notes": ["a note"],
        "seconds": 1.0,
    },
}
_BRACKETS = re.compile(r"[<>]")


class _ToldTc(Tc):
    """Shows what a hostile file holds, and checks the batches that it gets; nothing is started."""

    def __init__(self, text: str) -> None:
        self._text = text

    def show(self, *what: str) -> str:
        check_line(" ".join(what))
        return self._text

    def batch(self, lines: Sequence[str]) -> None:
        for line in lines:
            check_line(line)

    def knows(self, kind: str) -> bool:
        return bool(kind)


def sonic(rng: random.Random) -> None:
    """A switch's configuration: our tables beside it, the patches there and back, and what is shown."""
    config = sonic_configs.default(brackets=rng.random() < 0.3)
    config["DSCP_TO_TC_MAP"]["AZURE"] = dict(list(config["DSCP_TO_TC_MAP"]["AZURE"].items())[:8])
    config["PORT"] = {port: config["PORT"][port] for port in sonic_configs.PORTS[:1]}
    text = json.dumps(hostile_texts.in_tree(rng, config))
    path = render.write(_HERE / "config_db.json", text.encode())
    target = SonicTarget(SonicFiles(_HERE / "sonic", "HERMOD", path), _plan(rng))
    try:
        check_shown(target.rendered())
        target.apply(replace=rng.random() < 0.5)
        check_shown("\n".join(map(str, target.differences())))
        for file in Path("sonic").glob("*.json"):
            check_shown(file.read_text("utf-8"))
            json.loads(file.read_text("utf-8"))
    finally:
        for file in Path("sonic").glob("*"):
            file.unlink()


def tc(rng: random.Random) -> None:
    """Batches for an interface whose queues say hostile things of themselves, and shell lines beside them."""
    interface = hostile_texts.text(rng, "lo") if rng.random() < 0.2 else "lo"
    shown = "qdisc prio 4845: root refcnt 2 bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2\n"
    fake = _ToldTc(hostile_texts.in_text(rng, shown) if rng.random() < 0.5 else "qdisc noqueue 0: root refcnt 2\n")
    plan = _plan(rng)
    target = LinuxTarget(interface, plan, kind=rng.choice(("htb", "prio")), rate_bps=10**9, tc=fake)
    for line in target.commands():
        check_line(line)
    for line in settings(plan):
        if not line.startswith("#"):
            check_line(line)
    check_shown(target.rendered())
    check_shown("\n".join(map(str, target.differences())))
    with suppress(OfframpError):  # it does not read back what it wrote, and puts back what was there
        target.apply(replace=True)
    target.undo()


def _plan(rng: random.Random) -> Any:
    tree = hostile_texts.in_tree(rng, _PLAN) if rng.random() < 0.5 else copy.deepcopy(_PLAN)
    return read_plan(render.write(_HERE / "queues.json", json.dumps(tree).encode()))


def tuner(rng: random.Random) -> None:
    """A network's file as NCCL's plug-in in C, in which no text of the file may be."""
    tree = hostile_texts.in_tree(rng, _NETWORK)
    network = load_network(str(render.write(_HERE / "pod.toml", render.to_toml(tree).encode())))
    source = tuner_source(tuner_choices(network.by_nccl()))
    if hostile_texts.MARK in source:
        raise HostileAction("the compiler reads a text of the file")


def msccl_program(rng: random.Random) -> None:
    """A program of MSCCL, written again: equal, and with as many elements."""
    program = read_program(render.write(_HERE / "p.xml", hostile_texts.in_text(rng, _PROGRAM).encode()))
    text = to_xml(program)
    if parse(text) != program or len(_BRACKETS.findall(text)) != len(_BRACKETS.findall(to_xml(parse(text)))):
        raise HostileAction(f"the program reads back otherwise: {text[:200]!r}")
    check_shown(text)


def step_trace(rng: random.Random) -> None:
    """What ranks wrote of a step, as a trace for Perfetto and drawn on a page."""
    lines = [json.dumps(row) for row in hostile_texts.in_tree(rng, _STEPS)]
    folder = _HERE / "job"
    folder.mkdir(exist_ok=True)
    (folder / "steps-0.jsonl").write_text("\n".join([json.dumps(_STEP), *lines]), "utf-8")
    text = json.dumps(steps.chrome_trace(folder))
    check_shown(text)
    check_page(timeline(render.write(_HERE / "step.json", text.encode())))


def hop_trace(rng: random.Random) -> None:
    """Moments of a request, as a trace for Perfetto and drawn on a page."""
    folder = _HERE / "hops"
    folder.mkdir(exist_ok=True)
    rows = hostile_texts.in_tree(rng, _MOMENTS)
    (folder / "requester-1.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (noted,) = hops.read(folder, "requester")
    cut = hops.pieces(noted.moments, 1, 8, "caller")
    text = json.dumps(hops.chrome_trace(cut, list(dict.fromkeys(piece[0] for piece in cut)), hostile_texts.text(rng)))
    check_shown(text)
    check_page(timeline(render.write(_HERE / "hop.json", text.encode())))


def job_page(rng: random.Random) -> None:
    """The report of a job whose name, ways, command and cluster are hostile."""
    from offramp.job.report import html

    tree = hostile_texts.in_tree(rng, _CONTENT)
    with suppress(TypeError, KeyError):  # a field's name was changed
        check_page(html(tree, _HERE))


WRITERS = {each.__name__: each for each in (sonic, tc, tuner, msccl_program, step_trace, hop_trace, job_page)}
