# SPDX-License-Identifier: Apache-2.0
"""The tree of commands and their modules, which are imported when a command is first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class CommandGroup:
    """Commands of one subject.

    Attributes:
        help: a sentence.
        members: members by name; ``module:attribute`` of a command.
        aliases: older names, which still work but are not shown.
        itself: the command that runs if no member is named.
    """

    help: str
    members: Mapping[str, CommandGroup | str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    itself: str | None = None


def _in(folder: str, names: str) -> dict[str, str]:
    """Commands in a folder whose modules have their names."""
    return {name: f"offramp_cli.{folder}.{name}:{name}" for name in names.split()}


TRAIN: Final = CommandGroup(
    "",
    {name: f"offramp_cli.{name}.train:{name}" for name in ("dgs", "torchgt", "unitg")},
    itself="offramp_cli.train:train",
)
SWITCH: Final = CommandGroup(
    "The P4 software switch.",
    _in("switch", "run stf trace debug bench fuzz lint compile p4info dissector resources shims shell")
    | {
        "doctor": "offramp_cli.doctor:switch_doctor",
        "language-server": "offramp_cli.switch.language_server:language_server",
    },
)
SIMULATE: Final = CommandGroup(
    "Simulate a system at sizes beyond any laboratory.",
    {
        name: f"offramp_cli.{name}.simulate:{name}"
        for name in ("cluster", "themis", "dgtp", "hermod", "leo", "unitg", "g3", "switchgnn", "packets")
    }
    | {"coflows": "offramp_cli.cluster.coflows:coflows"},
    aliases={"placement": "dgtp", "collective": "themis"},
)
HERMOD: Final = CommandGroup(
    "Coflow priorities of LLM training (Hermod).", _in("hermod", "models plan compose deploy match export demo")
)
DGTP: Final = CommandGroup("GNN training on a placement that its own profile decides (DGTP).", _in("dgtp", "run"))
THEMIS: Final = CommandGroup("Collectives over several dimensions (Themis).", _in("themis", "export check"))
FPGA: Final = CommandGroup(
    "FPGA engines: lint, test, synthesis, bitstreams, boards.",
    _in("fpga", "lint test synth regs build") | {"flash": "offramp_cli.fpga.build:flash"},
)
LEO: Final = CommandGroup(
    "Applications over CPU, FPGA and smartNIC, a path for each request (LEO).",
    {"validate": "offramp_cli.leo.plan:validate"}
    | _in("leo", "plan profile run serve connect bench chain cache")
    | {"password": "offramp_cli.leo.serve:password"},
)
NIC: Final = CommandGroup(
    "The agent of smartNICs.",
    _in("nic", "bench")
    | {name: f"offramp_cli.nic.agent:{name}" for name in ("build", "run", "upgrade", "stats", "metrics")}
    | {"doctor": "offramp_cli.doctor:nic_doctor"},
)
CLUSTER: Final = CommandGroup(
    "Cluster files: hosts, cards, switches, links.",
    {name: f"offramp_cli.cluster.show:{name}" for name in ("check", "show")}
    | {"import": "offramp_cli.cluster.convert:import_", "export": "offramp_cli.cluster.convert:export"},
)
JOB: Final = CommandGroup(
    "One job on a cluster: plan, run, watch, export, undo.",
    {name: f"offramp_cli.job.job:{name}" for name in ("plan", "run", "undo")} | _in("job", "top export"),
)
LAB: Final = CommandGroup(
    "Run the cluster of a file as a laboratory on this machine.",
    {name: f"offramp_cli.lab.lab:{name}" for name in ("up", "status", "down")}
    | {"exec": "offramp_cli.lab.lab:execute"},
)
GRAPH: Final = CommandGroup(
    "Graph files: convert them, or cut them for the ranks of a job.", _in("graph", "convert partition")
)
GNN: Final = CommandGroup("Models of PyG, or your own, on partitioned graphs.", _in("gnn", "train predict embed"))
TRANSPORT: Final = CommandGroup(
    "How frames reach the switch.",
    {"list": "offramp_cli.transport.list:list_transports"} | _in("transport", "bench"),
)
OFFRAMP: Final = CommandGroup(
    "Take the communication of distributed training off the host.",
    {
        "demo": "offramp_cli.demo.demo:demo",
        **{name: f"offramp_cli.{name}:{name}" for name in ("allreduce", "reproduce", "token", "schema")},
        "plan": "offramp_cli.switchgnn.plan:plan",
        "train": TRAIN,
        "cluster": CLUSTER,
        "lab": LAB,
        "job": JOB,
        "graph": GRAPH,
        "gnn": GNN,
        "switch": SWITCH,
        "simulate": SIMULATE,
        "hermod": HERMOD,
        "dgtp": DGTP,
        "themis": THEMIS,
        "fpga": FPGA,
        "leo": LEO,
        "nic": NIC,
        "transport": TRANSPORT,
    },
    aliases={"coflow": "hermod"},
)


def member(words: Sequence[str]) -> tuple[CommandGroup | str | None, list[str]]:
    """The command or group that ``words`` name, None if none, and its present names; older names are known too."""
    node: CommandGroup | str | None = OFFRAMP
    names: list[str] = []
    for word in words:
        if not isinstance(node, CommandGroup):
            return None, names
        names.append(node.aliases.get(word, word))
        node = node.members.get(names[-1])
    return node, names
