# SPDX-License-Identifier: Apache-2.0
"""What every vertex computes by itself before the first layer, some rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from offramp.models.base import PreparedTensors

if TYPE_CHECKING:
    from offramp.g3.store import TensorStore
    from offramp.models.base import Features, Model

ROWS: Final = 16384
"""Most rows that are computed at once, with a limit on memory or without, so that sums have the same order."""
BYTES: Final = 16 << 20
"""Most bytes of their features, of which dropout has a copy and a mask."""


class FirstStage:
    """Stage 0: :meth:`Model.encode` and the first :meth:`Model.prepare` of ``own`` vertices and those received.

    With a store that streams nothing but the results is kept, and the way back computes each piece again.

    Attributes:
        encoded: states ``h^0`` of the own vertices without a graph; None if the input features are sparse.
        prepared: what the first layer needs, without a graph.
        trained: whether its message and its own part have gradients.
    """

    encoded: torch.Tensor | None
    prepared: PreparedTensors
    trained: tuple[bool, bool]

    def __init__(self, model: Model, features: Features, own: int, store: TensorStore) -> None:
        """Args: model: the model; features: ``(n + h, F)``; own: ``n``; store: of the results."""
        self._model, self._features, self._own, self._store = model, features, own, store
        rows, step = ROWS, ROWS
        if isinstance(features, torch.Tensor):
            row = max(1, features[:1].nbytes)
            rows, step = len(features), max(1, min(ROWS, BYTES // row))
        self._pieces = [slice(at, min(at + step, rows)) for at in range(0, rows, step)] or [slice(0, 0)]
        self._whole = len(self._pieces) == 1
        self._tapes: list[tuple[torch.Tensor | None, PreparedTensors]] = []

    def forward(self, *, training: bool) -> None:
        """Compute all pieces."""
        self._tapes = []
        store, states, own, message = self._store, None, None, None
        for piece in self._pieces:
            encoded, prepared = self._piece(piece, training=training)
            if training and not store.streams:
                self._tapes.append((encoded, prepared))
            self.trained = prepared.message.requires_grad, prepared.own is not None and prepared.own.requires_grad
            if self._whole:
                states, message = None if encoded is None else encoded.detach(), prepared.message.detach()
                own = None if prepared.own is None else prepared.own.detach()
                break
            mine = self._mine(piece)
            states = self._put(states, encoded, mine, self._own)
            own = self._put(own, prepared.own, mine, self._own)
            message = self._put(message, prepared.message, piece, self._pieces[-1].stop)
        assert message is not None
        self.encoded, self.prepared = states, PreparedTensors(message, own)

    def backward(self, message: torch.Tensor, own: torch.Tensor | None, encoded: list[torch.Tensor]) -> None:
        """Add to the gradients of its parameters.

        Args:
            message: gradient ``(n + h, w)`` of the messages.
            own: that of the own parts.
            encoded: gradients ``(n, …)`` of the encoded states, which add up in their order.
        """
        if not self._model.of_stage(0) and not any(self.trained):
            return
        for number, piece in enumerate(self._pieces):
            outputs, prepared = self._tapes[number] if self._tapes else self._piece(piece, training=True)
            mine = self._mine(piece)
            pairs: list[tuple[torch.Tensor | None, torch.Tensor | None]] = [
                (prepared.message, message if self._whole else message[piece]),
                *((outputs, gradient[mine]) for gradient in encoded),
                (prepared.own, None if own is None else own[mine]),
            ]
            trained = [(o, g) for o, g in pairs if o is not None and g is not None and o.requires_grad]
            if trained:
                roots, gradients = zip(*trained, strict=True)
                torch.autograd.backward(roots, gradients)

    def _piece(self, piece: slice, *, training: bool) -> tuple[torch.Tensor | None, PreparedTensors]:
        """Encoded states of the own vertices of a piece, and what it prepares."""
        features = self._features if self._whole else self._features[piece]  # type: ignore[index]
        mine = self._mine(piece)
        count = self._own if self._whole else mine.stop - mine.start
        with torch.set_grad_enabled(training):
            encoded = self._model.encode(features)
            prepared = self._model.prepare(1, encoded, count)
            return encoded[:count] if isinstance(encoded, torch.Tensor) else None, prepared

    def _mine(self, piece: slice) -> slice:
        return (
            slice(min(piece.start, self._own), min(piece.stop, self._own)) if not self._whole else slice(0, self._own)
        )

    def _put(
        self, whole: torch.Tensor | None, part: torch.Tensor | None, rows: slice, count: int
    ) -> torch.Tensor | None:
        """``part`` at its rows of the whole; the input features themselves where it is a piece of them."""
        if part is None:
            return None
        features = self._features
        assert isinstance(features, torch.Tensor)
        if not part.numel() or part.untyped_storage().data_ptr() == features.untyped_storage().data_ptr():
            return features[:count] if whole is None else whole
        if whole is None:
            whole = self._store.empty(count, *part.shape[1:])
        whole[rows] = part.detach()
        self._store.wrote(part)
        return whole
