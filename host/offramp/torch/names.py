# SPDX-License-Identifier: Apache-2.0
"""Names of groups that only their members create, and the part of the store that a group has to itself.

PyTorch 2.13 names such a group after its ranks and the number of groups of this process. Ranks in different numbers of
groups therefore never meet, and a group made after another has been destroyed gets its name and reads its addresses.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import torch.distributed as dist
from torch.distributed import distributed_c10d

c10d: Any = distributed_c10d
_counts: Final[weakref.WeakKeyDictionary[Any, Counter[tuple[int, ...]]]] = weakref.WeakKeyDictionary()
"""By default group, the groups that have been named after each set of ranks."""


def name_of_members(ranks: Sequence[int]) -> str:
    """A name that all members find for themselves: the n-th group of these ranks since the default group began."""
    count = _counts.setdefault(dist.group.WORLD, Counter())
    members = tuple(ranks)
    count[members] += 1
    text = f"{'_'.join(map(str, members))}/{count[members]}"
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def store_of_group(store: Any, rank: int) -> Any:
    """A store without what an earlier group of the same name, which may have died, has left in ``store``.

    Each rank counts in it how often it has made the group, and so all its ranks come to the same number.

    Args:
        store: store with the group's name as its prefix.
        rank: rank in the group.
    """
    return c10d.PrefixStore(f"offramp{store.add(f'offramp/made/{rank}', 1)}", store)
