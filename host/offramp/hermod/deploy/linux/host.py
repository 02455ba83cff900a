# SPDX-License-Identifier: Apache-2.0
"""Settings of a host's sockets and kernel beside the queues, to be made by the job's user."""

from __future__ import annotations

from offramp.hermod.deploy.plan import DeployPlan


def settings(plan: DeployPlan) -> list[str]:
    """Shell lines and comments: sysctls, then ``IP_TOS`` (``IPV6_TCLASS``) of each priority's sockets."""
    lines = [
        "# answers carry the DSCP of what they answer, so that ACKs do not starve",
        "sysctl -w net.ipv4.tcp_reflect_tos=1",
    ]
    if plan.ecn_bytes:
        lines += ["# TCP asks for marks in place of losses", "sysctl -w net.ipv4.tcp_ecn=1"]
    lines.append("# setsockopt(IP_TOS) or (IPV6_TCLASS); the same number is the traffic class of RoCE (NCCL_IB_TC)")
    for row in plan.priorities:
        mids, layers = (_range(row.get(name, [])) for name in ("micro_batches", "layers"))
        what = f"microbatch {mids}, {' '.join(row.get('types', []))}, layers {layers}"
        lines.append(f"#   IP_TOS {row['dscp'] << 2:3d}  DSCP {row['dscp']:2d}  queue {row['queue']}  {what}")
    return lines


def _range(bounds: list[int]) -> str:
    return "-".join(map(str, sorted(set(bounds))))
