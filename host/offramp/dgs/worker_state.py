# SPDX-License-Identifier: Apache-2.0
"""State of one worker beside the weights that all have alike, as arrays for checkpoints.

Masks in effect and masks that an explanation has made but that are not yet due, what explanations are made from, and
counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from offramp.dgs.cache import slots
from offramp.dgs.masks import Masks

if TYPE_CHECKING:
    from offramp.dgs.shard import Shard

_NEVER = -1


@dataclass(frozen=True, eq=False)
class WorkerState:
    """State of a worker between two epochs.

    Attributes:
        masks: masks in effect; None: none yet.
        due: masks that take effect later; None: none.
        due_after: the batch after which they do.
        explanations: number of explanations begun.
        rows, known: fields of the :class:`~offramp.dgs.cache.FeatureCache`.
        logits: what the next explanation starts from, where there was one.
    """

    masks: Masks | None
    due: Masks | None
    due_after: int | None
    explanations: int
    rows: npt.NDArray[np.float32]
    known: npt.NDArray[np.bool_]
    logits: npt.NDArray[np.float32]

    @classmethod
    def blank(cls, shard: Shard) -> WorkerState:
        """The state of a worker that has seen nothing."""
        halo, width = (len(shard.halo), shard.width) if shard.explains else (0, 0)
        places = len(slots(halo, width, shard.settings.seed)) if halo else 0
        rows, logits = np.zeros((places, width), np.float32), np.zeros(1 + halo + width, np.float32)
        return cls(None, None, None, 0, rows, np.zeros(places, np.bool_), logits)

    def arrays(self, shard: Shard) -> dict[str, npt.NDArray[Any]]:
        """The state as arrays, whose names, types and shapes follow from the shard."""
        masked = shard.settings.rule.masked
        shapes = {"nodes": len(shard.halo) if masked else 0, "features": shard.width if masked else 0}
        arrays: dict[str, npt.NDArray[Any]] = {"rows": self.rows, "known": self.known, "logits": self.logits}
        for name, masks in (("masks", self.masks), ("due", self.due)):
            for part, length in shapes.items():
                values = np.zeros(length, np.float32) if masks is None else getattr(masks, part)
                arrays[f"{name}.{part}"] = values
        versions = [0 if masks is None else masks.version for masks in (self.masks, self.due)]
        after = _NEVER if self.due_after is None else self.due_after
        return arrays | {"counts": np.array([*versions, after, self.explanations], np.int64)}

    @classmethod
    def of(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> WorkerState:
        """The state that :meth:`arrays` wrote."""
        version, due_version, after, explanations = (int(count) for count in arrays["counts"])

        def masks(name: str, number: int) -> Masks | None:
            if not number:
                return None
            return Masks(number, arrays[f"{name}.nodes"].copy(), arrays[f"{name}.features"].copy())

        due_after = None if after == _NEVER else after
        due = masks("due", due_version)
        kept = (arrays[name] for name in ("rows", "known", "logits"))
        return cls(masks("masks", version), due, due_after, explanations, *kept)
