# SPDX-License-Identifier: Apache-2.0
"""Codecs, which encode feature vectors in messages between workers.

>>> from offramp.codecs import CODECS
>>> {"fp32", "sylvie", "q8"} <= set(CODECS.names())
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.codecs.base import CODECS as CODECS
    from offramp.codecs.base import CodecSettings as CodecSettings
    from offramp.codecs.base import Coding as Coding
    from offramp.codecs.base import FeatureCodec as FeatureCodec
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "CODECS": "offramp.codecs.base",
            "CodecSettings": "offramp.codecs.base",
            "Coding": "offramp.codecs.base",
            "FeatureCodec": "offramp.codecs.base",
        },
    )
