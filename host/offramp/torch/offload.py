# SPDX-License-Identifier: Apache-2.0
"""The interface of offloads, which run collectives in place of gloo, and their registry.

An offload is one class in one file, registered by a decorator or an entry point of ``offramp.offloads``::

    @OFFLOADS.register("mine")
    class Mine(Offload):
        kinds = ("all_reduce",)

        def all_reduce(self, values, call): ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import torch

from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

if TYPE_CHECKING:
    from offramp.hermod.factors import Factors
    from offramp.torch.place import OffloadGroup
    from offramp.torch.settings import NetworkSettings

Result = torch.Tensor | Future[torch.Tensor]
"""A tensor, or a future of one."""


class DeclinedError(OfframpError):
    """The collective is better left to gloo; every rank declines it alike, before any result is written."""


@dataclass(frozen=True, slots=True)
class CollectiveRequest:
    """Properties of a collective that all ranks share, by which an offload decides.

    Attributes:
        kind: ``all_reduce``, ``reduce_scatter``, ``all_gather``, ``all_to_all``, ``broadcast``, ``send``, …
        form: ``single``, ``list``, ``coalesced``, ``lists``, ``sparse`` or ``any``: how its tensors are given.
        dtype: type of the tensors.
        reduce: ``SUM``, ``MAX``, …; empty if nothing is reduced.
        bytes: bytes that this rank contributes.
        group: description of the group; ``mesh_NAME`` for a mesh's dimension.
        ranks: number of ranks of the group.
        backward: whether it is called in a backward pass, as for gradients.
    """

    kind: str
    form: str
    dtype: torch.dtype
    reduce: str
    bytes: int
    group: str
    ranks: int
    backward: bool = False


@dataclass(frozen=True, slots=True)
class CollectiveCall:
    """A collective for an offload to run.

    Attributes:
        request: its properties.
        number: number of the collective in its group.
        outputs, inputs: tensors, with lists concatenated.
        output_splits, input_splits: rows by rank, empty for even splits; for a send or receive the second is the tag.
        peer: rank of the root, source or destination in the group.
        position: index among the collectives of its kind in this backward or forward pass.
        factors: its priority factors, if any.
        received_from: called with the sender's rank by a receive from any rank, before it is over.
    """

    request: CollectiveRequest
    number: int
    outputs: Sequence[torch.Tensor]
    inputs: Sequence[torch.Tensor]
    output_splits: Sequence[int]
    input_splits: Sequence[int]
    peer: int
    position: int
    factors: Factors | None
    received_from: Callable[[int], None] = lambda _: None


class Offload:
    """Runs collectives of one group, started one after the other in the same order on every rank.

    The methods named after kinds get flat contiguous tensors in main memory and return the result, or a future of it;
    sends and receives return a future, since one may wait for the other. They raise :class:`DeclinedError` if gloo
    should run it after all, on every rank alike, and any other :class:`OfframpError` if the collective has failed.

    Args:
        settings: settings of the network.

    Attributes:
        kinds: kinds of collectives for which it has methods.
        name: its name for users.
    """

    kinds: ClassVar[tuple[str, ...]] = ()
    dtypes: ClassVar[tuple[torch.dtype, ...] | None] = None
    reduces: ClassVar[tuple[str, ...]] = ("SUM", "AVG")
    name: str = ""

    def __init__(self, settings: NetworkSettings) -> None:
        self.settings = settings

    def takes(self, request: CollectiveRequest) -> bool:
        """Whether it runs this collective; decided before :meth:`open`, alike on every rank."""
        return (
            request.kind in self.kinds
            and request.form != "sparse"
            and (self.dtypes is None or request.dtype in self.dtypes)
            and (not request.reduce or request.reduce in self.reduces)
            and (request.reduce != "AVG" or request.dtype is not torch.bool)
        )

    def expect(self) -> None:
        """Check that what the offload relies on answers; the group's first rank calls it when the group is created.

        Raises:
            OfframpError: it does not; the group then does without this offload.
        """

    def open(self, place: OffloadGroup) -> None:
        """Connect with the other ranks, which make the same call.

        Raises:
            OfframpError: it cannot be used; all ranks then continue without it.
        """

    def close(self) -> None:
        """Release what :meth:`open` created; called once, whether or not it was opened."""

    def all_reduce(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        """Sum ``values``, ``(n,)``, over the ranks."""
        raise NotImplementedError

    def reduce_scatter(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        """This rank's row of the sum of ``values``, ``(ranks, n)``, over the ranks."""
        raise NotImplementedError

    def all_gather(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        """Gather ``values``, ``(n,)``, of all ranks as ``(ranks, n)``."""
        raise NotImplementedError

    def all_to_all(self, output: torch.Tensor, values: torch.Tensor, call: CollectiveCall) -> Result:
        """Send rows of ``values`` to ranks by ``call.input_splits``; receive ``output`` by ``call.output_splits``."""
        raise NotImplementedError

    def send(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        """Send ``values`` to ``call.peer``."""
        raise NotImplementedError

    def recv(self, output: torch.Tensor, call: CollectiveCall) -> Result:
        """Receive ``output`` from ``call.peer``; from any rank (form ``any``) if that is -1."""
        raise NotImplementedError


class Gloo(Offload):
    """The offload that leaves a collective to gloo, staged through main memory if necessary."""

    name = "gloo"

    def takes(self, request: CollectiveRequest) -> bool:  # noqa: ARG002
        """Accept everything."""
        return True


OFFLOADS: Final[Registry[type[Offload]]] = Registry("offload", "offramp.offloads", "offramp.torch.offloads")


def offloads_of(settings: NetworkSettings) -> list[tuple[str, Offload]]:
    """The offloads of the settings, each with the word that a group's description must contain (empty: all groups).

    Raises:
        OfframpError: there is no such offload.
    """
    offloads = []
    for each in settings.offloads:
        word, _, name = each.rpartition(":")
        offload = OFFLOADS.get(name)(settings)
        offload.name = name
        offloads.append((word, offload))
    return offloads
