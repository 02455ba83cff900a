# SPDX-License-Identifier: Apache-2.0
"""Masks of all workers in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from offramp.dgs.masks import Masks
from offramp_base.archive import open_archive
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARTS = ("nodes", "features")


def save_masks(path: str, masks: Sequence[Masks | None]) -> None:
    """Write ``nodes_I`` and ``features_I`` of every worker I that has masks.

    Raises:
        OfframpError: the file cannot be written.
    """
    arrays: dict[str, Any] = {}
    for worker, each in enumerate(masks):
        if each is not None:
            arrays[f"nodes_{worker}"], arrays[f"features_{worker}"] = each.nodes, each.features
    try:
        with written(Path(path)) as file:
            np.savez(file, **arrays)
    except OSError as error:
        raise SettingsError("save_masks", f"cannot be written: {error.strerror}", path) from None


def load_masks(path: str, workers: int) -> list[Masks]:
    """Masks of all workers, as version 1.

    Raises:
        OfframpError: no such file, or masks of a worker are missing.
    """
    try:
        with open_archive(Path(path)) as archive:
            return [
                Masks(1, *(archive.read(f"{name}_{worker}", "f", 1).astype(np.float32) for name in _PARTS))
                for worker in range(workers)
            ]
    except OfframpError as error:
        raise SettingsError("masks", f"{error}, for {{workers}} {workers}") from None
