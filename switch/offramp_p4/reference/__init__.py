# SPDX-License-Identifier: Apache-2.0
"""bmv2's simple_switch as an oracle and a yardstick, where it is on PATH."""

from __future__ import annotations

from offramp_p4.reference.captures import CapturedFrame, run
from offramp_p4.reference.process import SimpleSwitch, available, missing

__all__ = ["CapturedFrame", "SimpleSwitch", "available", "missing", "run"]
