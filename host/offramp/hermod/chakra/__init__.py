# SPDX-License-Identifier: Apache-2.0
"""MLCommons Chakra execution traces: one file for each rank, in and out."""

from offramp.hermod.chakra.export import export_dag
from offramp.hermod.chakra.load import is_trace, load_dag
from offramp.hermod.chakra.node import ChakraNode, ChakraTrace
from offramp.hermod.chakra.trace import read_trace, write_trace

__all__ = ["ChakraNode", "ChakraTrace", "export_dag", "is_trace", "load_dag", "read_trace", "write_trace"]
