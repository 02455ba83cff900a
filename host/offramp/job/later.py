# SPDX-License-Identifier: Apache-2.0
"""Undoing after a signal: a command has a second to end, a switch takes longer to get its program back.

A process that outlasts the command waits for the job's process to end, and then releases what that has left on the
switches of the cluster file on its standard input.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Final

from offramp.cluster.model import Cluster
from offramp.cluster.read import parse_cluster
from offramp.cluster.write import cluster_text
from offramp.job.switches import release_ended
from offramp_base.ending.lasting import start_lasting
from offramp_base.ending.owner import is_process, owner
from offramp_base.errors import OfframpError

_LONGEST_S: Final = 30.0
_POLL_S: Final = 0.05


def undo_later(cluster: Cluster) -> None:
    """Start the process that undoes later."""
    start_lasting(__name__, [owner()], cluster_text(cluster))


def main() -> None:
    """Wait for the job's process to end, then release the state that it has left on switches."""
    cluster = parse_cluster(sys.stdin.read())
    deadline = time.monotonic() + _LONGEST_S
    while is_process(sys.argv[1]) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    for switch in cluster.switches:
        if switch.control:
            with contextlib.suppress(OfframpError):  # the next job tries again
                release_ended(switch)
