# SPDX-License-Identifier: Apache-2.0
"""MLCommons Chakra execution traces: one file for each rank, in and out."""

from offramp.hermod.chakra.export import export_dag
from offramp.hermod.chakra.load import is_trace, load_dag
from offramp.hermod.chakra.trace import Node, Trace, read_trace, write_trace

__all__ = ["Node", "Trace", "export_dag", "is_trace", "load_dag", "read_trace", "write_trace"]
