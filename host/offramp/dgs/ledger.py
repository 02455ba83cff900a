# SPDX-License-Identifier: Apache-2.0
"""Bytes that a worker has sent to others, by what they were for."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass

KINDS = ("requests", "structure", "features", "masks", "explanation", "synchronisation", "headers")
"""Kinds of bytes that sampling sends; gradients are counted besides."""


@dataclass
class TrafficLedger:
    """Bytes sent to other workers.

    Attributes:
        requests: ids of vertices whose neighbours or features are asked for.
        structure: neighbours that were drawn elsewhere, and how many.
        features: features of remote vertices.
        masks: bitmaps of columns, and node masks for those who draw.
        explanation: features fetched for explanations alone, with their ids.
        synchronisation: probabilities of FastGCN and LADIES that workers sum up, in a ring.
        headers: headers of all messages, and their lengths.
        gradients: summed up, in a ring.
        rows: remote rows received for training; ``rows_explained`` for explanations.
    """

    requests: int = 0
    structure: int = 0
    features: int = 0
    masks: int = 0
    explanation: int = 0
    synchronisation: int = 0
    headers: int = 0
    gradients: int = 0
    rows: int = 0
    rows_explained: int = 0

    @property
    def total(self) -> int:
        """All bytes but gradients, which every sampler sends alike."""
        return sum(getattr(self, kind) for kind in KINDS)

    def __add__(self, other: TrafficLedger) -> TrafficLedger:
        """The bytes of both ledgers together."""
        return TrafficLedger(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: TrafficLedger) -> TrafficLedger:
        """The bytes sent since ``other`` was recorded."""
        return TrafficLedger(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def copy(self) -> TrafficLedger:
        """A ledger of the same counts that later messages do not change."""
        return self + TrafficLedger()

    def as_dict(self) -> dict[str, int]:
        """Field names and values, and the total."""
        return {"total": self.total, **asdict(self)}


def ring_bytes(values: int, workers: int) -> int:
    """Bytes that each of ``workers`` sends so that all have the sum of ``values`` bytes: 2 (W - 1) / W of them."""
    return round(2 * (workers - 1) / workers * values)
