# SPDX-License-Identifier: Apache-2.0
"""PyTorch functions reserved for backends of certain names or classes, opened for groups of this backend.

In four places, PyTorch 2.13 checks whether a group is gloo's or NCCL's rather than what it can do. These functions are
replaced by ones that serve groups of this backend and call the original for all others. Groups of any backend end only
once gloo's threads are idle (:mod:`offramp.torch.gloo_threads`).
"""

from __future__ import annotations

from datetime import timedelta
from functools import wraps
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from offramp.torch.gloo_threads import wait_until_idle
from offramp.torch.names import name_of_members

c10d: Any = distributed_c10d
"""The module as Any: its stubs lack what is replaced here."""


def is_ours(group: Any) -> bool:
    """Whether a group (None: the default one) uses this backend for main memory, with this rank as a member."""
    if not dist.is_initialized():
        return False
    process_group = group if group is not None else dist.group.WORLD
    known = c10d._world.pg_map.get(process_group)
    return known is not None and "offramp" in str(known[0])


def open_gates() -> None:
    """Replace the functions wherever PyTorch has them."""
    for name, ours in (
        ("monitored_barrier", _monitored_barrier),
        ("split_group", _split_group),
        ("_set_pg_timeout", _set_pg_timeout),
    ):
        original = getattr(c10d, name, None)
        if original is not None:
            _replace(name, original, ours)
    _before(c10d.destroy_process_group, wait_until_idle)
    c10d._hash_ranks_to_str = _name_of_members(c10d._hash_ranks_to_str)
    number = c10d.ProcessGroup._get_sequence_number_for_group

    def sequence_number(self: dist.ProcessGroup) -> int:
        backend: Any = self._get_backend(torch.device("cpu")) if is_ours(self) else None
        return int(number(self) if backend is None else backend._get_sequence_number_for_group())

    c10d.ProcessGroup._get_sequence_number_for_group = sequence_number


def _replace(name: str, original: Any, ours: Any) -> None:
    @wraps(original)
    def gate(*arguments: Any, **named: Any) -> Any:
        group = ours.group_of(*arguments, **named)
        return ours(*arguments, **named) if is_ours(group) else original(*arguments, **named)

    for module in (c10d, dist):
        if getattr(module, name, None) is original:
            setattr(module, name, gate)


def _name_of_members(original: Any) -> Any:
    @wraps(original)
    def gate(ranks: list[int]) -> str:
        return name_of_members(ranks) if is_ours(None) else str(original(ranks))

    return gate


def _before(original: Any, prepare: Any) -> None:
    """Have a function of all groups begin with ``prepare()``."""

    @wraps(original)
    def gate(*arguments: Any, **named: Any) -> Any:
        prepare()
        return original(*arguments, **named)

    for module in (c10d, dist):
        setattr(module, original.__name__, gate)


def _monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    if isinstance(timeout, float):  # as PyTorch itself takes it
        timeout = timedelta(seconds=timeout)
    if timeout is None:
        timeout = c10d._get_default_timeout(dist.Backend.GLOO)
    c10d._check_valid_timeout(timeout)
    (group or c10d._get_default_group()).monitored_barrier(timeout, wait_all_ranks=wait_all_ranks)


_monitored_barrier.group_of = lambda group=None, *_, **__: group  # type: ignore[attr-defined]


def _split_group(
    parent_pg: Any = None,
    split_ranks: Any = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> Any:
    """Replacement for ``torch.distributed.split_group``, which requires an accelerator; makes new groups of the ranks.

    Raises:
        ValueError: there are no groups to split into, or a group is empty or names a rank twice.
    """
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    for ranks in split_ranks:
        if not ranks:
            raise ValueError("the split group cannot be empty")
        if len(set(ranks)) != len(ranks):
            raise ValueError("the split group cannot have duplicate ranks")
    of_parent = dist.get_process_group_ranks(parent_pg)
    here = dist.get_rank()
    for ranks in split_ranks:
        members = sorted(of_parent[rank] for rank in ranks)
        if here in members:
            return dist.new_group(
                members,
                timeout,
                backend,
                pg_options,
                use_local_synchronization=True,
                group_desc=group_desc,
            )
    return None


_split_group.group_of = lambda parent_pg=None, *_, **__: parent_pg  # type: ignore[attr-defined]


def _set_pg_timeout(timeout: timedelta, group: Any = None) -> None:
    c10d._check_valid_timeout(timeout)
    (group or c10d._get_default_group())._get_backend(torch.device("cpu")).set_timeout(timeout)


_set_pg_timeout.group_of = lambda _timeout, group=None, *_, **__: group  # type: ignore[attr-defined]
