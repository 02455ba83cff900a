# SPDX-License-Identifier: Apache-2.0
"""A rank that waits until another one listens, and becomes a command then.

``python -m offramp.job.until_listening HOST PORT WORD…``
"""

from __future__ import annotations

import os
import socket
import sys
import time
from typing import Final

_LONGEST_S: Final = 120.0
_POLL_S: Final = 0.1


def main() -> None:
    """Wait, then become the command; the command reports a peer that is not there by then."""
    host, port, *words = sys.argv[1:]
    deadline = time.monotonic() + _LONGEST_S
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), 5.0).close()
            break
        except OSError:
            time.sleep(_POLL_S)
    os.execvp(words[0], words)  # noqa: S606 - the command that the job has for this rank


if __name__ == "__main__":
    main()
