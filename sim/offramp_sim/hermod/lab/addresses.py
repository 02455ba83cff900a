# SPDX-License-Identifier: Apache-2.0
"""Addresses of the ranks, in a network of their own."""

from __future__ import annotations

from typing import Final

INTERFACE: Final = "coflow0"


def mac(rank: int) -> int:
    """A locally administered address."""
    return 0x02_0F_F0_00_00_00 | rank + 1


def address(rank: int) -> str:
    """The rank's IPv4 address."""
    return f"10.77.0.{rank + 1}"
