"""Masks of all workers in one file."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from offramp.ending.files import written
from offramp.errors import OfframpError
from offramp.train.dgs.masks import Masks

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        raise OfframpError(f"--save-masks {path}: cannot be written: {error.strerror}") from None


def load_masks(path: str, workers: int) -> list[Masks]:
    """Masks of so many workers, as version 1.

    Raises:
        OfframpError: no such file, or masks of a worker are missing.
    """
    try:
        with np.load(path) as file:
            found = {name: file[name].astype(np.float32) for name in file.files}
    except OSError as error:
        raise OfframpError(f"--masks {path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, zipfile.BadZipFile):
        raise OfframpError(f"--masks {path}: expected a file of --save-masks") from None
    masks = []
    for worker in range(workers):
        names = f"nodes_{worker}", f"features_{worker}"
        for name in names:
            if name not in found:
                raise OfframpError(f"--masks {path}: expected {name}, for --workers {workers}")
        masks.append(Masks(1, *(found[name] for name in names)))
    return masks
