# SPDX-License-Identifier: Apache-2.0
"""The debugger of a switch that runs as a process: the extension ``dap`` of the switch."""

from __future__ import annotations

from offramp_p4_tools.debug.debugger import Debugger
from offramp_p4_tools.debug.server import DebugServer, attaching


class AttachableDebugger(Debugger):
    """A debugger that clients of the Debug Adapter Protocol attach to."""

    def listen(self, address: str) -> DebugServer:
        """Serve clients at ``address``.

        Raises:
            OfframpError: other machines reach the address, or it cannot be bound.
        """
        return DebugServer(address, attaching(self))
