# SPDX-License-Identifier: Apache-2.0
"""BF-RT, the control protocol of Intel's P4 Studio for Tofino, over gRPC. Never run on hardware.

>>> from offramp.bfrt import BfrtInfo
>>> "pipe.forward" in BfrtInfo.parse('{"tables": []}')
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.bfrt.connection import BfrtConnection as BfrtConnection
    from offramp.bfrt.info import BfrtInfo as BfrtInfo
    from offramp.bfrt.session import BfrtSession as BfrtSession
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "BfrtConnection": "offramp.bfrt.connection",
            "BfrtInfo": "offramp.bfrt.info",
            "BfrtSession": "offramp.bfrt.session",
        },
    )
