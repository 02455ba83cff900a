# SPDX-License-Identifier: Apache-2.0
"""PSA runs on both engines, PNA on the Python engine."""

from both_engines import cache_home, engine, make_switch

__all__ = ["cache_home", "engine", "make_switch"]
