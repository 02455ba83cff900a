# SPDX-License-Identifier: Apache-2.0
"""v1model's standard metadata in documents."""

from __future__ import annotations

from typing import Final

from offramp_p4.types import Bits
from offramp_p4_tools.bmv2.read.layout import ArchitectureMetadata

STANDARD: Final = "standard_metadata"
_WIDTHS: Final = {
    "ingress_port": 9,
    "egress_spec": 9,
    "egress_port": 9,
    "instance_type": 32,
    "packet_length": 32,
    "enq_timestamp": 32,
    "enq_qdepth": 19,
    "deq_timedelta": 32,
    "deq_qdepth": 19,
    "ingress_global_timestamp": 48,
    "egress_global_timestamp": 48,
    "mcast_grp": 16,
    "egress_rid": 16,
    "checksum_error": 1,
    "parser_error": 32,
    "priority": 3,
}
"""Metadata that the engines read and write, with v1model's widths; a document may have other widths."""
V1MODEL: Final = ArchitectureMetadata(
    {STANDARD: {name: Bits(width) for name, width in _WIDTHS.items()}}, ("intrinsic_metadata", "queueing_metadata")
)
