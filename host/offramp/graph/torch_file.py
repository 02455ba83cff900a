# SPDX-License-Identifier: Apache-2.0
"""Reader of files written by ``torch.save`` that executes nothing."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from offramp_base.errors import OfframpError, first_line


def load_torch_file(path: Path, what: str, safe: Sequence[Any] = ()) -> Any:
    """Tensors, numbers and dictionaries, and objects of the ``safe`` classes.

    A defaultdict, in which PyG writes features of edges, becomes an ordinary dictionary: the safe mode of torch.load
    cannot fill a defaultdict, even after PyG has declared that class safe.

    Raises:
        OfframpError: the file is not of the kind that ``what`` names, or needs other classes.
    """
    import torch
    from torch import serialization

    before = serialization.get_safe_globals()
    others = [each for each in before if each is not defaultdict]
    serialization.clear_safe_globals()
    try:
        serialization.add_safe_globals([*others, *safe, (OrderedDict, "collections.defaultdict")])
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise OfframpError(f"{path}: expected {what}: {first_line(error)}") from None
    finally:
        serialization.clear_safe_globals()
        serialization.add_safe_globals(before)
