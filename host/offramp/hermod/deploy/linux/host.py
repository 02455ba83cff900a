# SPDX-License-Identifier: Apache-2.0
"""Settings of a host's sockets and kernel beside the queues, to be made by the job's user."""

from __future__ import annotations

from offramp.hermod.queues import QueuePlan


def settings(plan: QueuePlan) -> list[str]:
    """Shell lines and comments: sysctls, then ``IP_TOS`` (``IPV6_TCLASS``) of each priority's sockets."""
    lines = [
        "# answers carry the DSCP of what they answer, so that ACKs do not starve",
        "sysctl -w net.ipv4.tcp_reflect_tos=1",
    ]
    if plan.ecn_bytes:
        lines += ["# TCP asks for marks in place of losses", "sysctl -w net.ipv4.tcp_ecn=1"]
    lines.append("# setsockopt(IP_TOS) or (IPV6_TCLASS); the same number is the traffic class of RoCE (NCCL_IB_TC)")
    for priority in plan.priorities:
        dscp, queue, meaning = priority.dscp, priority.queue, priority.meaning
        line = f"#   IP_TOS {dscp << 2:3d}  DSCP {dscp:2d}  queue {queue}"
        if meaning is not None:
            types = " ".join(each.name for each in meaning.ctypes)
            line += f"  microbatch {_range(meaning.mids)}, {types}, layers {_range(meaning.lids)}"
        lines.append(line)
    return lines


def _range(bounds: tuple[int, int]) -> str:
    return "-".join(map(str, sorted(set(bounds))))
