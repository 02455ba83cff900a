# SPDX-License-Identifier: Apache-2.0
"""Other numbers of cores or devices than a host's file says, for sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from offramp.leo.config.config import Config
from offramp.leo.config.models import Kind
from offramp_base.errors import OfframpError


def with_cores(config: Config, cores: int | None) -> Config:
    """The configuration with so many cores that serve; as it is for None.

    Raises:
        OfframpError: fewer than one.
    """
    if cores is None:
        return config
    cpus = [name for name, node in config.hardware.nodes.items() if node.kind is Kind.CPU]
    return with_parallelism(config, dict.fromkeys(cpus, cores))


def with_parallelism(config: Config, parallelism: Mapping[str, int]) -> Config:
    """The configuration with nodes that serve so many requests at a time.

    Raises:
        OfframpError: no such node, or a number below 1.
    """
    nodes = dict(config.hardware.nodes)
    for name, number in parallelism.items():
        if name not in nodes:
            raise OfframpError(f"node {name}: expected one of {', '.join(nodes)}")
        if number < 1:
            raise OfframpError(f"node {name}: {number} at a time, expected at least 1")
        nodes[name] = nodes[name].model_copy(update={"parallelism": number})
    return replace(config, hardware=config.hardware.model_copy(update={"nodes": nodes}))
