# SPDX-License-Identifier: Apache-2.0
"""DGS's messages between workers: requests of a k-hop sampler and their answers (specification sections 6 and 7.2).

A message is records, one after the other. A record is a header and what its kind says:

========== =============================== =================================================
kind       header                          body
========== =============================== =================================================
SAMPLE     layer, batch, rows              rows x ``ID``: vertices whose neighbours are drawn
NEIGHBOURS layer, batch, rows, items       rows x ``COUNT``, items x ``ID``: what was drawn
PULL       batch, version, rows            rows x ``ID``: vertices whose features are needed
ROWS       batch, version, rows, columns   rows x columns x ``VALUE``
MASKS      version, rows, columns          bitmap of the columns; rows x ``VALUE``: weights
========== =============================== =================================================

A worker that pulls names the version of its masks. Who has that version answers with its columns alone, in ascending
order; who has not, with all.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from offramp_base.wire.fields import HeaderFormat

DGS: Final = HeaderFormat(
    "dgs",
    {
        "magic": 32,
        "kind": 8,
        "layer": 8,
        "source": 16,
        "batch": 32,
        "version": 32,
        "rows": 32,
        "columns": 32,
        "items": 32,
    },
)
"""``source`` is the worker that sends; ``columns`` of MASKS are those of the whole feature matrix."""

MAGIC: Final = 0x44475331  # "DGS1"
SAMPLE: Final = 1
NEIGHBOURS: Final = 2
PULL: Final = 3
ROWS: Final = 4
MASKS: Final = 5

ID: Final = np.dtype("<i8")
COUNT: Final = np.dtype("<u4")
VALUE: Final = np.dtype("<f4")
