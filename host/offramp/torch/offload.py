# SPDX-License-Identifier: Apache-2.0
"""What carries out collectives in gloo's place, and where it is found by name.

An offload is one class in one file, registered by a decorator or an entry point of ``offramp.offloads``::

    @OFFLOADS.register("mine")
    class Mine(Offload):
        kinds = ("all_reduce",)

        def all_reduce(self, values, call): ...
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import torch

from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

if TYPE_CHECKING:
    from offramp.hermod.factors import Factors
    from offramp.torch.place import Place
    from offramp.torch.settings import NetworkSettings

Result = torch.Tensor | Future[torch.Tensor]
"""A tensor, or one that will be."""


class DeclinedError(OfframpError):
    """This collective is better done by gloo; every rank declines it alike, before any result is written."""


@dataclass(frozen=True, slots=True)
class Request:
    """What of a collective all ranks have in common, by which an offload decides.

    Attributes:
        kind: ``all_reduce``, ``reduce_scatter``, ``all_gather``, ``all_to_all``, ``broadcast``, ``send``, …
        form: ``single``, ``list``, ``coalesced``, ``lists``, ``sparse`` or ``any``: how its tensors lie.
        dtype: of the tensors.
        reduce: ``SUM``, ``MAX``, …; empty where nothing is reduced.
        bytes: that this rank gives.
        group: its description; of a mesh's dimension ``mesh_NAME``.
        ranks: of the group.
        backward: whether a backward pass calls it, as it does for gradients.
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
class Call:
    """A collective that an offload carries out.

    Attributes:
        request: what it is.
        number: of the collective in its group.
        outputs, inputs: tensors, lists one after the other.
        output_splits, input_splits: rows by rank, empty for even ones; of a send or receive the second is the tag.
        peer: root, source or destination in the group.
        position: among the collectives of its kind in this backward or forward pass.
        factors: its priority, where there are any.
    """

    request: Request
    number: int
    outputs: Sequence[torch.Tensor]
    inputs: Sequence[torch.Tensor]
    output_splits: Sequence[int]
    input_splits: Sequence[int]
    peer: int
    position: int
    factors: Factors | None


class Offload:
    """Carries out collectives of one group, started one after the other in the same order on every rank.

    The methods named after kinds get flat contiguous tensors in main memory and return the result, or a future of it;
    sends and receives a future, for one may wait for the other.
    They raise :class:`DeclinedError` where gloo should do it after all, on every rank alike, and any other
    :class:`OfframpError` where the collective has failed.

    Args:
        settings: of the network.

    Attributes:
        kinds: that it has methods for.
        name: that users call it by.
    """

    kinds: ClassVar[tuple[str, ...]] = ()
    dtypes: ClassVar[tuple[torch.dtype, ...] | None] = None
    reduces: ClassVar[tuple[str, ...]] = ("SUM", "AVG")
    name: str = ""

    def __init__(self, settings: NetworkSettings) -> None:
        self.settings = settings

    def takes(self, request: Request) -> bool:
        """Whether it carries this out; decided before :meth:`open`, alike on every rank."""
        return (
            request.kind in self.kinds
            and request.form != "sparse"
            and (self.dtypes is None or request.dtype in self.dtypes)
            and (not request.reduce or request.reduce in self.reduces)
            and (request.reduce != "AVG" or request.dtype.is_floating_point)
        )

    def open(self, place: Place) -> None:
        """Connect with the other ranks, which call this too.

        Raises:
            OfframpError: it cannot be used: all ranks then go on without it.
        """

    def close(self) -> None:
        """Let go of what :meth:`open` made; called once, whether or not it was opened."""

    def all_reduce(self, values: torch.Tensor, call: Call) -> Result:
        """The sum of ``values``, ``(n,)``, over the ranks."""
        raise NotImplementedError

    def reduce_scatter(self, values: torch.Tensor, call: Call) -> Result:
        """This rank's row of the sum of ``values``, ``(ranks, n)``, over the ranks."""
        raise NotImplementedError

    def all_gather(self, values: torch.Tensor, call: Call) -> Result:
        """``values``, ``(n,)``, of all ranks: ``(ranks, n)``."""
        raise NotImplementedError

    def all_to_all(self, output: torch.Tensor, values: torch.Tensor, call: Call) -> Result:
        """Rows of ``values`` to each rank by ``call.input_splits``, into ``output`` by ``call.output_splits``."""
        raise NotImplementedError

    def send(self, values: torch.Tensor, call: Call) -> Result:
        """Send ``values`` to ``call.peer``."""
        raise NotImplementedError

    def recv(self, output: torch.Tensor, call: Call) -> Result:
        """Into ``output`` from ``call.peer``."""
        raise NotImplementedError


class Gloo(Offload):
    """None: gloo carries it out, by way of main memory where that is needed."""

    name = "gloo"

    def takes(self, request: Request) -> bool:  # noqa: ARG002
        """Whether gloo takes the request: it takes any."""
        return True


OFFLOADS: Final[Registry[type[Offload]]] = Registry("offload", "offramp.offloads", "offramp.torch.offloads")


def made(settings: NetworkSettings) -> list[tuple[str, Offload]]:
    """The offloads of the settings, each with the word that a group's description must have (empty: all groups).

    Raises:
        OfframpError: there is no such offload.
    """
    found = []
    for each in settings.offloads:
        word, _, name = each.rpartition(":")
        offload = OFFLOADS.get(name)(settings)
        offload.name = name
        found.append((word, offload))
    return found
