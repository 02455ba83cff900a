# SPDX-License-Identifier: Apache-2.0
"""The interface of feature codecs, and the registry that finds them by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, Self

from offramp_base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from offramp.graph.halo_plan import HaloMessage, HaloPlan
    from offramp.graph.step_messages import StepMessage
    from offramp.workers.mailbox import Key
    from offramp_base.archive import Arrays

UNCOMPRESSED: Final = 32
"""Bits of a value that is sent unchanged."""


class CodecSettings(Protocol):
    """The settings of a run that a codec may use."""

    @property
    def codec(self) -> str:
        """The codec's name in :data:`CODECS`."""

    @property
    def dtype(self) -> str:
        """Type of the features, as PyTorch calls it."""

    @property
    def ranking(self) -> str:
        """Sylvie's ranking of boundary vertices, a name in :data:`offramp.sylvie.widths.RANKINGS`."""

    @property
    def pool(self) -> str:
        """Sylvie's pool of boundary vertices that are ranked together: ``pairs`` (of workers), or ``all``."""

    @property
    def seed(self) -> int:
        """Random seed."""


class Coding(ABC):
    """Feature vectors to bytes and back, on behalf of one worker.

    Both ends know a message's vertices and key, so the bytes need not tell them; they may be read a training step
    later. Vectors are copied at most twice on their way into a payload and once out of it.
    """

    @abstractmethod
    def encode(self, x: torch.Tensor, message: HaloMessage, key: Key) -> torch.Tensor:
        """``x[message.rows]``, features or their gradients, to uint8."""

    @abstractmethod
    def decode(
        self, payload: torch.Tensor, message: HaloMessage, key: Key, out: torch.Tensor, *, add: bool = False
    ) -> None:
        """Write the vectors of a uint8 payload to ``out[message.rows]``, or add them to these.

        Raises:
            OfframpError: not what :meth:`encode` makes.
        """

    def arrays(self, sent: Sequence[StepMessage]) -> Arrays:  # noqa: ARG002
        """State that later messages depend on, for checkpoints; most codecs have none.

        Args:
            sent: messages that the worker sends in each step.
        """
        return {}

    def restore(self, sent: Sequence[StepMessage], arrays: Arrays) -> None:  # noqa: B027
        """Take over what :meth:`arrays` returned."""

    def set_bits(self, bits: int) -> None:  # noqa: B027 - most have one width
        """Width of the messages from now on, as the controller decides; a codec of one width has no use for it."""


class FeatureCodec(Coding):
    """A coding that a run may name.

    Attributes:
        bits: bits of a value in a message, at least; None: Sylvie's controller decides for each epoch.
        summable: whether a switch can add the codes of several workers.
        samples: whether messages may hold other vertices in each training step.
    """

    bits: ClassVar[int | None] = UNCOMPRESSED
    summable: ClassVar[bool] = False
    samples: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def of(cls, settings: CodecSettings, plan: HaloPlan, rank: int) -> Self:
        """The codec of worker ``rank``, whose messages ``plan`` names."""


CODECS: Final[Registry[type[FeatureCodec]]] = Registry("codec", "offramp.codecs")
"""Offramp's own are entry points as well."""
