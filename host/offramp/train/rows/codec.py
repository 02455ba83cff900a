"""What rows become on their way from worker to worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp.train.rows.mailbox import Key


class RowCodec(ABC):
    """Rows to bytes and back; bytes tell by themselves how they were made, since they may be read an epoch later."""

    @abstractmethod
    def encode(self, rows: torch.Tensor, key: Key, ids: npt.NDArray[np.int64]) -> torch.Tensor:
        """``(r, F)`` rows of the vertices ``ids``, or their gradients, to uint8."""

    @abstractmethod
    def decode(self, payload: torch.Tensor, width: int) -> torch.Tensor:
        """uint8 to ``(r, width)`` rows.

        Raises:
            OfframpError: not what :meth:`encode` makes.
        """


class PlainCodec(RowCodec):
    """The values as they are."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype

    def encode(self, rows: torch.Tensor, key: Key, ids: npt.NDArray[np.int64]) -> torch.Tensor:  # noqa: ARG002
        """``F`` times 4 or 8 bytes a row."""
        return rows.contiguous().view(torch.uint8).view(-1)

    def decode(self, payload: torch.Tensor, width: int) -> torch.Tensor:
        """The same values."""
        return payload.view(self._dtype).view(-1, width)
