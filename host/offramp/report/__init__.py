# SPDX-License-Identifier: Apache-2.0
"""Reports of training runs: one self-contained HTML page, and the same data as JSON."""

from offramp.report.model import Check, Note, Report, Run, Table
from offramp.report.write import write_report

__all__ = ["Check", "Note", "Report", "Run", "Table", "write_report"]
