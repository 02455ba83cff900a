# SPDX-License-Identifier: Apache-2.0
"""LEO's key-value store: ``libofframp`` (``smartnic/store``), driven from Python.

>>> from offramp.leo.store import StoreSettings
>>> StoreSettings(listen="unix:/tmp/store.sock", memory=1 << 30).sync
'everysec'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.leo.store.build import LIBRARY as LIBRARY
    from offramp.leo.store.build import build as build_library
    from offramp.leo.store.build import missing as missing_tools
    from offramp.leo.store.build import source_root as source_root
    from offramp.leo.store.client import AsyncClient as AsyncClient
    from offramp.leo.store.client import StoreClient as StoreClient
    from offramp.leo.store.process import StoreProcess as StoreProcess
    from offramp.leo.store.settings import StoreSettings as StoreSettings
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "AsyncClient": "offramp.leo.store.client",
            "LIBRARY": "offramp.leo.store.build",
            "StoreClient": "offramp.leo.store.client",
            "StoreProcess": "offramp.leo.store.process",
            "StoreSettings": "offramp.leo.store.settings",
            "build_library": "offramp.leo.store.build:build",
            "missing_tools": "offramp.leo.store.build:missing",
            "source_root": "offramp.leo.store.build",
        },
    )
