# SPDX-License-Identifier: Apache-2.0
"""Every command and where it is: a module is imported when its command is first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class Group:
    """Commands of one subject.

    Attributes:
        help: a sentence.
        members: by name; ``module:attribute`` of a command.
        aliases: older names, which work and are not shown.
        itself: the command that runs where no member is named.
    """

    help: str
    members: Mapping[str, Group | str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    itself: str | None = None


TRAIN: Final = Group(
    "",
    {
        "dgs": "offramp_cli.dgs.train:dgs",
        "torchgt": "offramp_cli.torchgt.train:torchgt",
        "unitg": "offramp_cli.unitg.train:unitg",
    },
    itself="offramp_cli.train:train",
)
SWITCH: Final = Group(
    "The P4 software switch.",
    {
        "run": "offramp_cli.switch.run:run",
        "stf": "offramp_cli.switch.stf:stf",
        "trace": "offramp_cli.switch.trace:trace",
        "bench": "offramp_cli.switch.bench:bench",
        "doctor": "offramp_cli.doctor:switch_doctor",
        "fuzz": "offramp_cli.switch.fuzz:fuzz",
        "lint": "offramp_cli.switch.lint:lint",
        "p4info": "offramp_cli.switch.p4info:p4info",
        "resources": "offramp_cli.switch.resources:resources",
        "shell": "offramp_cli.switch.shell:shell",
    },
)
SIMULATE: Final = Group(
    "Simulate a system at sizes that no laboratory has.",
    {
        "themis": "offramp_cli.themis.simulate:themis",
        "dgtp": "offramp_cli.dgtp.simulate:dgtp",
        "hermod": "offramp_cli.hermod.simulate:hermod",
        "leo": "offramp_cli.leo.simulate:leo",
        "unitg": "offramp_cli.unitg.simulate:unitg",
        "g3": "offramp_cli.g3.simulate:g3",
    },
    aliases={"placement": "dgtp", "collective": "themis"},
)
HERMOD: Final = Group(
    "Coflow priorities of LLM training (Hermod).",
    {
        "models": "offramp_cli.hermod.models:models",
        "plan": "offramp_cli.hermod.plan:plan",
        "deploy": "offramp_cli.hermod.deploy:deploy",
        "match": "offramp_cli.hermod.match:match",
        "export": "offramp_cli.hermod.export:export",
        "demo": "offramp_cli.hermod.demo:demo",
    },
)
FPGA: Final = Group(
    "FPGA engines: lint, test, synthesis, bitstreams, boards.",
    {
        "lint": "offramp_cli.fpga.lint:lint",
        "test": "offramp_cli.fpga.test:test",
        "synth": "offramp_cli.fpga.synth:synth",
        "regs": "offramp_cli.fpga.regs:regs",
        "build": "offramp_cli.fpga.build:build",
        "flash": "offramp_cli.fpga.build:flash",
    },
)
LEO: Final = Group(
    "Applications over CPU, FPGA and smartNIC, a path for each request (LEO).",
    {
        "validate": "offramp_cli.leo.plan:validate",
        "plan": "offramp_cli.leo.plan:plan",
        "profile": "offramp_cli.leo.profile:profile",
        "run": "offramp_cli.leo.run:run",
    },
)
NIC: Final = Group(
    "The agent of smartNICs.",
    {
        "bench": "offramp_cli.nic.bench:bench",
        "build": "offramp_cli.nic.agent:build",
        "run": "offramp_cli.nic.agent:run",
        "stats": "offramp_cli.nic.agent:stats",
        "doctor": "offramp_cli.doctor:nic_doctor",
    },
)
TRANSPORT: Final = Group(
    "How frames reach the switch.",
    {
        "list": "offramp_cli.transport.list:list_transports",
        "bench": "offramp_cli.transport.bench:bench",
    },
)
OFFRAMP: Final = Group(
    "Take the communication of distributed training off the host.",
    {
        "demo": "offramp_cli.demo:demo",
        "plan": "offramp_cli.switchgnn.plan:plan",
        "reproduce": "offramp_cli.reproduce:reproduce",
        "token": "offramp_cli.token:token",
        "schema": "offramp_cli.schema:schema",
        "train": TRAIN,
        "switch": SWITCH,
        "simulate": SIMULATE,
        "hermod": HERMOD,
        "fpga": FPGA,
        "leo": LEO,
        "nic": NIC,
        "transport": TRANSPORT,
    },
    aliases={"coflow": "hermod"},
)


def member(words: Sequence[str]) -> tuple[Group | str | None, list[str]]:
    """What ``words`` name in the tree, older names too, and the names of today; None where they name nothing."""
    found: Group | str | None = OFFRAMP
    names: list[str] = []
    for word in words:
        if not isinstance(found, Group):
            return None, names
        names.append(found.aliases.get(word, word))
        found = found.members.get(names[-1])
    return found, names
