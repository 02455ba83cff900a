# SPDX-License-Identifier: Apache-2.0
"""Tests of the P4 switch run on both engines."""

from both_engines import engine, make_switch

__all__ = ["engine", "make_switch"]
