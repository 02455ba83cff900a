# SPDX-License-Identifier: Apache-2.0
"""Tests in the p4c project's STF format: commands for the control plane, packets in, packets expected."""

from __future__ import annotations

from offramp_p4.stf.parse import parse
from offramp_p4.stf.run import Mismatch, StfResult, run_stf

__all__ = ["Mismatch", "StfResult", "parse", "run_stf"]
