# SPDX-License-Identifier: Apache-2.0
"""Figures of Matplotlib as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from offramp_base.ending.files import written
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: Figure, path: Path, dpi: int = 110) -> None:
    """Write a figure, the whole file or none, in the format that its name ends in; without an ending, PNG.

    Args:
        figure: to write.
        path: path of the file.
        dpi: dots per inch.

    Raises:
        OfframpError: the file cannot be written, or no format has this ending.
    """
    from matplotlib import rc_context

    try:
        with written(path) as file, rc_context({"svg.fonttype": "none"}):  # text stays text: small, and can be searched
            figure.savefig(file, dpi=dpi, format=path.suffix[1:] or "png")
    except OSError as error:
        raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None
    except ValueError:
        raise OfframpError(f"{path}: cannot be written: expected a name that ends in .png") from None
