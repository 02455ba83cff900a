# SPDX-License-Identifier: Apache-2.0
"""What tests have run of a P4 program: lines, states, actions, branches, tables and entries; as LCOV and in words."""

from offramp_p4.coverage.lcov import lcov
from offramp_p4.coverage.recorded import Coverage
from offramp_p4.coverage.words import summary

__all__ = ["Coverage", "lcov", "summary"]
