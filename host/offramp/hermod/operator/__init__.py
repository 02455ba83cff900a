# SPDX-License-Identifier: Apache-2.0
"""An asynchronous all-to-all for torch.distributed that sends in a matching's sub-phases (thesis, section 5.4).

>>> from offramp.hermod.operator import AllToAll, combine, dispatch
>>> callable(dispatch), callable(combine)
(True, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.hermod.operator.all_to_all import AllToAll as AllToAll
    from offramp.hermod.operator.moe import combine as combine
    from offramp.hermod.operator.moe import dispatch as dispatch
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "AllToAll": "offramp.hermod.operator.all_to_all",
            "combine": "offramp.hermod.operator.moe",
            "dispatch": "offramp.hermod.operator.moe",
        },
    )
