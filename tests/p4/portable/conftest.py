# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA run on both engines."""

from both_engines import engine, make_switch

__all__ = ["engine", "make_switch"]
