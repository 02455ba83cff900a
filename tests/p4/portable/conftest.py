# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA run on both engines."""

from both_engines import cache_home, engine, make_switch

__all__ = ["cache_home", "engine", "make_switch"]
