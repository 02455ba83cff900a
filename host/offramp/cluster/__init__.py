# SPDX-License-Identifier: Apache-2.0
"""Hosts, what sits in them, switches and links: one description (``cluster.yaml``) that every system reads."""

from __future__ import annotations

from offramp.cluster.model import Agent, Card, Cluster, Dimension, End, Host, Link, Switch
from offramp.cluster.read import is_cluster, parse_cluster, read_cluster

__all__ = [
    "Agent",
    "Card",
    "Cluster",
    "Dimension",
    "End",
    "Host",
    "Link",
    "Switch",
    "is_cluster",
    "parse_cluster",
    "read_cluster",
]
