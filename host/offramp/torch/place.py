# SPDX-License-Identifier: Apache-2.0
"""The surroundings of a group's offloads: its ranks, its store, and gloo groups reserved for them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

c10d: Any = distributed_c10d
"""The module as Any: its stubs lack what groups are made of."""


@dataclass
class OffloadGroup:
    """A group from an offload's view.

    Attributes:
        rank, size: rank of this process in the group, and number of ranks.
        ranks: ranks in the default group, by rank in this one.
        name: unique name of the group.
        store: store that all ranks of the group share.
        timeout: timeout of its collectives.
    """

    rank: int
    size: int
    ranks: Sequence[int]
    name: str
    store: Any
    timeout: timedelta
    _groups: dict[str, dist.ProcessGroup] = field(default_factory=dict)
    _making: threading.Lock = field(default_factory=threading.Lock)

    @property
    def control(self) -> dist.ProcessGroup:
        """A gloo group of all ranks, for the thread that starts offloaded collectives."""
        group = self.group(range(self.size), "control")
        assert group is not None
        return group

    @property
    def comparing(self) -> dist.ProcessGroup:
        """A gloo group of all ranks, for the program's thread, which compares collectives before it starts them."""
        group = self.group(range(self.size), "compare")
        assert group is not None
        return group

    def group(self, ranks: Sequence[int], label: str) -> dist.ProcessGroup | None:
        """A gloo group of some ranks of this one, created once per label; None if this rank is not among them.

        Only its members create it, which ``torch.distributed.new_group`` does not allow.
        """
        if self.rank not in ranks:
            return None
        with self._making:
            known = self._groups.get(label)
        return known if known is not None else self._new_group(ranks, label)

    def _new_group(self, ranks: Sequence[int], label: str) -> dist.ProcessGroup:
        # Ranks meet by the store. A client of it waits for one key at a time, so a thread that waited by the program's
        # would keep the program from telling others its own keys, for which they may wait.
        store = c10d.PrefixStore(f"offramp/{label}/{ranks[0]}/", self.store.clone())
        mine = list(ranks).index(self.rank)
        backend = dist.ProcessGroupGloo(store, mine, len(ranks), self.timeout)
        group: dist.ProcessGroup = c10d.ProcessGroup(store, mine, len(ranks))
        group._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
        group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, backend)
        name = c10d.GroupName(f"offramp:{self.name}:{label}:{ranks[0]}")
        group._set_group_name(name)
        group._set_group_desc(name)
        # PyTorch's list of names stays without it: PyTorch names groups by its length, the same on all ranks.
        mapping = {self.ranks[rank]: k for k, rank in enumerate(ranks)}
        world, tag = c10d._world, f"ptd:{name}"
        world.pg_map[group] = "gloo", store
        world.pg_group_ranks[group], world.pg_backend_config[group] = mapping, "cpu:gloo"
        world.tags_to_pg.setdefault(tag, []).append(group)
        world.pg_to_tag[group] = tag
        c10d._register_process_group(name, group)
        with self._making:
            self._groups[label] = group
        return group

    def abort(self) -> None:
        """End what waits in the groups."""
        for group in list(self._groups.values()):
            group.abort()

    def close(self) -> None:
        """Release the groups."""
        for group in self._groups.values():
            group.shutdown()
            for known in (c10d._world.pg_map, c10d._world.pg_group_ranks, c10d._world.pg_backend_config):
                known.pop(group, None)
            tag = c10d._world.pg_to_tag.pop(group, None)
            if tag is not None and group in c10d._world.tags_to_pg.get(tag, []):
                c10d._world.tags_to_pg[tag].remove(group)
            c10d._unregister_process_group(group.group_name)
        self._groups.clear()
