# SPDX-License-Identifier: Apache-2.0
"""Tests of the network run with switches of both engines."""

from both_engines import engine, make_switch

__all__ = ["engine", "make_switch"]
