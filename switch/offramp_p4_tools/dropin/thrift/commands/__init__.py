# SPDX-License-Identifier: Apache-2.0
"""The commands of bmv2's run-time command line, by subject."""

from offramp_p4_tools.dropin.thrift.commands import arrays, profiles, replication, switch, tables
from offramp_p4_tools.dropin.thrift.commands.base import COMMANDS, LACKING, CommandSession

__all__ = ["COMMANDS", "LACKING", "CommandSession", "arrays", "profiles", "replication", "switch", "tables"]
