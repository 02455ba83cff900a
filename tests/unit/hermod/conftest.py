# SPDX-License-Identifier: Apache-2.0
"""Compiled programs are kept in a folder of the test run."""

from both_engines import cache_home

__all__ = ["cache_home"]
