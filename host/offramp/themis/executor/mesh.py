# SPDX-License-Identifier: Apache-2.0
"""Ranks in a grid, with a process group for each of its dimensions."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Protocol

import torch.distributed as dist

from offramp.themis.network import Network
from offramp_base.errors import OfframpError

TIMEOUT = dt.timedelta(minutes=5)


class MeshRanks(Protocol):
    """The ranks that fill a mesh, and how groups of them are created.

    Attributes:
        rank, size: rank of this process, and number of ranks.
        control: group of all ranks.
    """

    @property
    def rank(self) -> int: ...  # noqa: D102
    @property
    def size(self) -> int: ...  # noqa: D102
    @property
    def control(self) -> dist.ProcessGroup: ...  # noqa: D102

    def group(self, ranks: Sequence[int], label: str) -> dist.ProcessGroup | None:
        """A group of some ranks; None if this rank is not a member and members create it alone."""


class DefaultRanks:
    """The ranks of the default group, in which every rank takes part in creating every group.

    Raises:
        OfframpError: there is no default group.
    """

    def __init__(self, timeout: dt.timedelta = TIMEOUT) -> None:
        if not dist.is_initialized():
            raise OfframpError("mesh: expected torch.distributed to be initialised")
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._timeout = timeout
        self.control = self.group(range(self.size), "control")

    def group(self, ranks: Sequence[int], label: str) -> dist.ProcessGroup:  # noqa: ARG002
        """A new group."""
        group: dist.ProcessGroup = dist.new_group(list(ranks), timeout=self._timeout)
        return group


class Mesh:
    """This rank's position and its peers along each dimension.

    Attributes:
        sizes: sizes of the dimensions.
        rank: rank of this process.
        groups: group along each dimension, None where it has no peers.
        control: group of all ranks, for agreement.
    """

    def __init__(
        self, network: Network, interfaces: Sequence[str] | None = None, ranks: MeshRanks | None = None
    ) -> None:
        """Create the groups; every rank must call this with the same network.

        Args:
            network: network whose dimensions the ranks fill.
            interfaces: network interface of each dimension, for gloo; by default the process' usual one.
            ranks: the ranks; by default those of the default group.

        Raises:
            OfframpError: there is no default group, or its ranks do not fill the dimensions.
        """
        ranks = ranks if ranks is not None else DefaultRanks()
        self.sizes = tuple(d.size for d in network.dimensions)
        world = ranks.size
        if world != math.prod(self.sizes):
            shape = "x".join(map(str, self.sizes))
            raise OfframpError(f"mesh {shape}: expected {math.prod(self.sizes)} ranks, there are {world}")
        if interfaces is not None and len(interfaces) != len(self.sizes):
            raise OfframpError(f"mesh: {len(interfaces)} interfaces for {len(self.sizes)} dimensions")
        self.rank = ranks.rank
        self.control = ranks.control
        self.groups: list[dist.ProcessGroup | None] = []
        strides = [math.prod(self.sizes[:k]) for k in range(len(self.sizes))]
        for k, size in enumerate(self.sizes):
            mine = None
            others = [range(s) if j != k else range(1) for j, s in enumerate(self.sizes)]
            with _interface(interfaces[k] if interfaces else None):
                for place in product(*others) if size > 1 else ():
                    first = sum(c * stride for c, stride in zip(place, strides, strict=True))
                    line = [first + c * strides[k] for c in range(size)]
                    group = ranks.group(line, f"dim{k + 1}")
                    if ranks.rank in line:
                        mine = group
            self.groups.append(mine)

    @property
    def world(self) -> int:
        """Total number of ranks."""
        return math.prod(self.sizes)


@contextmanager
def _interface(name: str | None) -> Iterator[None]:
    """Set the interface of a new group in the environment, where gloo reads it."""
    if name is None:
        yield
        return
    before = os.environ.get("GLOO_SOCKET_IFNAME")
    os.environ["GLOO_SOCKET_IFNAME"] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ["GLOO_SOCKET_IFNAME"]
        else:
            os.environ["GLOO_SOCKET_IFNAME"] = before
