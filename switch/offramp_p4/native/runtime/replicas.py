# SPDX-License-Identifier: Apache-2.0
"""Multicast groups and clone sessions as machine code finds them."""

from __future__ import annotations

from offramp_base.native.records import Record
from offramp_base.native.subset import Words


class Replicas(Record):
    """The copies of a multicast group or a clone session."""

    pairs: Words  # of port and replication id
    count: int
    most_bytes: int  # of a clone; 0: not cut
    cos: int
