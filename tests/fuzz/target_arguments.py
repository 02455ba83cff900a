# SPDX-License-Identifier: Apache-2.0
"""Texts that the command line takes: sizes, rates, links, ports, fan-outs, schemes, faults."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from fuzzing import mutate
from offramp.dgs.settings import DgsSettings
from offramp.nic.link import parse_nic_link
from offramp.switchgnn.fabric import parse_ports
from offramp.switchgnn.scheme import parse_scheme
from offramp_base.settings.check import from_text
from offramp_base.settings.field import declared
from offramp_base.transport.links import parse_link
from offramp_base.transport.udp import resolve
from offramp_cli.hermod.deploy import DeploySettings
from offramp_cli.hermod.plan import QueueSettings
from offramp_p4.settings import Settings
from offramp_p4.tm.settings import TrafficSettings
from offramp_sim.hermod.faults import parse_pause
from offramp_sim.leo.study import parse_rule

NAME = "arguments of commands"
_DGS, _QUEUES, _DEPLOY, _SWITCH, _TRAFFIC = (
    {each.attribute: each for each in declared(one)}
    for one in (DgsSettings, QueueSettings, DeploySettings, Settings, TrafficSettings)
)
LIMIT_S = 20.0  # a name of a host may be looked up
_PARSERS: tuple[tuple[Callable[[str], Any], tuple[str, ...]], ...] = (
    (partial(from_text, _TRAFFIC["buffer"]), ("4MB", "512KiB", "1.5 GB", "4096")),
    (partial(from_text, _TRAFFIC["recirculation_rate"]), ("10mbit", "2.5gbit", "64000", "1 kbit/s")),
    (partial(from_text, _TRAFFIC["port_rate"]), ("1=10mbit", "64000")),
    (partial(from_text, _TRAFFIC["queue_weight"]), ("0=3", "7=1")),
    (partial(from_text, _SWITCH["compile_memory"]), ("4", "4GiB")),
    (partial(from_text, _SWITCH["defines"]), ("A", "A=1")),
    (partial(from_text, _DEPLOY["police"]), ("6=10gbit",)),
    (partial(from_text, _DEPLOY["ecn_bytes"]), ("3=150KB", "150KB")),
    (partial(from_text, _DGS["fanout"]), ("10,5", "all", "10")),
    (partial(from_text, _DGS["columns"]), ("0.5", "32")),
    (partial(from_text, _DGS["lag"]), ("3", "free")),
    (partial(from_text, _QUEUES["control"]), ("48,56", "8")),
    (partial(from_text, _DEPLOY["ports"]), ("1-4,7", "510")),
    (partial(from_text, _DEPLOY["host"]), ("02:00:00:00:00:01=1",)),
    (parse_link, ("udp:127.0.0.1:7002", "unix:/tmp/port1", "veth1", "af_xdp:eth0", "nic:/tmp/agent#1")),
    (parse_nic_link, ("nic:/run/agent#1",)),
    (lambda text: parse_ports(text, 2), ("1@veth1,2@veth2", "udp:127.0.0.1:1,udp:127.0.0.1:2")),
    (partial(from_text, _SWITCH["ports"]), ("1@veth1", "2@udp:127.0.0.1:7002")),
    (parse_scheme, ("paper", "auto+balanced")),
    (parse_pause, ("1@0.5+2", "0@1")),
    (lambda text: parse_rule(text, ["direct"]), ("exact:3", "only:direct", "all")),
    (lambda text: resolve(f"[::1]:{text}"), ("7002",)),
    (lambda text: resolve(f"..{text}.invalid\x00:1"), ("a",)),
)


def run(rng: random.Random) -> None:
    """One text through one parser."""
    parse, examples = rng.choice(_PARSERS)
    text = rng.choice(examples)
    parse(mutate.text(rng, text) if rng.random() < 0.95 else rng.choice(mutate.WORDS))
