# SPDX-License-Identifier: Apache-2.0
"""DGS: mini-batch training of GNNs that fetches the neighbours and features that explain the model (Wan, ch. 3).

>>> from offramp.dgs import DgsSettings
>>> DgsSettings(graph="karate", workers=2).workers
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.dgs.mask_file import save_masks as save_masks
    from offramp.dgs.results import DgsEpoch as DgsEpoch
    from offramp.dgs.results import DgsResult as DgsResult
    from offramp.dgs.rules import Rule as Rule
    from offramp.dgs.run import train_dgs as train_dgs
    from offramp.dgs.settings import DgsSettings as DgsSettings
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "DgsEpoch": "offramp.dgs.results",
            "DgsResult": "offramp.dgs.results",
            "DgsSettings": "offramp.dgs.settings",
            "Rule": "offramp.dgs.rules",
            "save_masks": "offramp.dgs.mask_file",
            "train_dgs": "offramp.dgs.run",
        },
    )
