# SPDX-License-Identifier: Apache-2.0
"""Checks whether an item's results hold at other sizes, seeds and settings: a sweep, and a verdict on each number."""
