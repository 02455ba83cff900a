# SPDX-License-Identifier: Apache-2.0
"""The processes of a job: groups, launching, mailboxes, sums, rates, and counters.

>>> from offramp.workers import Group
>>> Group().size
1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.workers.group import GlooGroup as GlooGroup
    from offramp.workers.group import Group as Group
    from offramp.workers.launch import open_launcher as open_launcher
    from offramp.workers.mailbox import Mailbox as Mailbox
    from offramp.workers.mailbox import MemoryMailbox as MemoryMailbox
    from offramp.workers.place import LaunchedRank as LaunchedRank
    from offramp.workers.place import find_place as find_place
    from offramp.workers.processes import expect_workers as expect_workers
    from offramp.workers.processes import run_workers as run_workers
    from offramp.workers.rate import TokenBucket as TokenBucket
    from offramp.workers.traffic import Traffic as Traffic
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "GlooGroup": "offramp.workers.group",
            "Group": "offramp.workers.group",
            "LaunchedRank": "offramp.workers.place",
            "Mailbox": "offramp.workers.mailbox",
            "MemoryMailbox": "offramp.workers.mailbox",
            "TokenBucket": "offramp.workers.rate",
            "Traffic": "offramp.workers.traffic",
            "expect_workers": "offramp.workers.processes",
            "find_place": "offramp.workers.place",
            "open_launcher": "offramp.workers.launch",
            "run_workers": "offramp.workers.processes",
        },
    )
