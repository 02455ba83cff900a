# SPDX-License-Identifier: Apache-2.0
"""Collectives of a Themis plan between processes, chunk by chunk over gloo.

>>> from offramp.themis.executor import Mesh
>>> Mesh.__name__
'Mesh'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.themis.executor.executor import Executor as Executor
    from offramp.themis.executor.mesh import Mesh as Mesh
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Executor": "offramp.themis.executor.executor",
            "Mesh": "offramp.themis.executor.mesh",
        },
    )
