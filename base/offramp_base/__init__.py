# SPDX-License-Identifier: Apache-2.0
"""The common base of all Offramp packages: errors, documents, listening, ending, compiled Python, packets and links.

>>> from offramp_base import PacketBatch, open_io
>>> batch = PacketBatch.of([(1, b"one"), (2, b"three")])
>>> batch.ports.tolist(), batch.lengths.tolist()
([1, 2], [3, 5])
>>> open_io("udp:127.0.0.1:0").close()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_base.documents import parse_json as parse_json
    from offramp_base.errors import OfframpError as OfframpError
    from offramp_base.listening import Listener as Listener
    from offramp_base.listening import connect as connect
    from offramp_base.p4rt.session import Session as Session
    from offramp_base.registry import Registry as Registry
    from offramp_base.settings.error import SettingsError as SettingsError
    from offramp_base.settings.field import Field as Field
    from offramp_base.transport import FrameIO as FrameIO
    from offramp_base.transport import open_io as open_io
    from offramp_base.wire.batch import PacketBatch as PacketBatch
    from offramp_base.wire.fields import HeaderFormat as HeaderFormat
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Field": "offramp_base.settings.field",
            "FrameIO": "offramp_base.transport",
            "HeaderFormat": "offramp_base.wire.fields",
            "Listener": "offramp_base.listening",
            "OfframpError": "offramp_base.errors",
            "PacketBatch": "offramp_base.wire.batch",
            "Registry": "offramp_base.registry",
            "Session": "offramp_base.p4rt.session",
            "SettingsError": "offramp_base.settings.error",
            "connect": "offramp_base.listening",
            "open_io": "offramp_base.transport",
            "parse_json": "offramp_base.documents",
        },
    )

__version__ = "0.1.0"
