# SPDX-License-Identifier: Apache-2.0
"""The messages of gNMI, the gRPC network management interface of OpenConfig, which client and server share.

>>> from offramp_base.gnmi import GnmiSession
>>> GnmiSession.__name__
'GnmiSession'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_base.gnmi.session import GnmiSession as GnmiSession
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "GnmiSession": "offramp_base.gnmi.session",
        },
    )
