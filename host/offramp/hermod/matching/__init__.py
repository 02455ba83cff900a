# SPDX-License-Identifier: Apache-2.0
"""Sub-phases of an imbalanced all-to-all, each a matching (Wan's thesis, section 5.3.2).

>>> import numpy as np
>>> from offramp.hermod.matching import bound
>>> int(bound(np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]])))
3
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.hermod.matching.decompose import decompose as decompose_matrix
    from offramp.hermod.matching.literal import literal as literal_matrix
    from offramp.hermod.matching.schedule import SubphaseSchedule as SubphaseSchedule
    from offramp.hermod.matching.schedule import bound as bound
    from offramp.hermod.matching.schedule import check_matrix as check_matrix
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "SubphaseSchedule": "offramp.hermod.matching.schedule",
            "bound": "offramp.hermod.matching.schedule",
            "check_matrix": "offramp.hermod.matching.schedule",
            "decompose_matrix": "offramp.hermod.matching.decompose:decompose",
            "literal_matrix": "offramp.hermod.matching.literal:literal",
        },
    )
