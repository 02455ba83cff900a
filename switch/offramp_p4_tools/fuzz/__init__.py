# SPDX-License-Identifier: Apache-2.0
"""Random P4 programs, packets and bytes: two engines must agree, and nothing may fail but with a clean error."""

from __future__ import annotations

from offramp_p4_tools.fuzz.campaign import Campaign
from offramp_p4_tools.fuzz.findings import Finding, TrialCounts
from offramp_p4_tools.fuzz.programs import random_program

__all__ = ["Campaign", "Finding", "TrialCounts", "random_program"]
