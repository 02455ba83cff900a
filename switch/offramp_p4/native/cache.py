# SPDX-License-Identifier: Apache-2.0
"""The P4 engine's door to :mod:`offramp_base.native.cache`."""

from __future__ import annotations

from offramp_base.native.cache import MOST_FILES, ObjectCache, cache_folder

__all__ = ["MOST_FILES", "ObjectCache", "cache_folder"]
