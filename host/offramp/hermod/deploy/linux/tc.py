# SPDX-License-Identifier: Apache-2.0
"""The commands ``tc`` and ``unshare`` of this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from offramp_base.errors import OfframpError


class Tc:
    """Runs ``tc``; tests put another in its place."""

    def show(self, *what: str) -> str:
        """The output of ``tc WHAT``.

        Raises:
            OfframpError: it fails, or is not installed.
        """
        return self._run(["tc", *what]).stdout

    def batch(self, lines: Sequence[str]) -> None:
        """Carry out lines until one fails.

        Raises:
            OfframpError: one failed; those before it are done.
        """
        self._run(["tc", "-batch", "-"], "\n".join(lines) + "\n", lines)

    def knows(self, kind: str) -> bool:
        """Whether the kernel has a discipline; tried in a namespace of its own, which vanishes."""
        command = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", kind]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            return False

    def _run(
        self, command: Sequence[str], text: str = "", lines: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(command, input=text, capture_output=True, check=False, text=True)
        except OSError as error:
            raise OfframpError(f"tc: cannot be run: {error.strerror}; expected iproute2") from None
        if done.returncode:
            raise OfframpError(_reason(done.stderr, lines))
        return done


def _reason(stderr: str, lines: Sequence[str]) -> str:
    said = [line for line in stderr.splitlines() if not line.startswith(("Command failed", "Warning"))]
    reason = said[-1].removeprefix("RTNETLINK answers: ").removeprefix("Error: ") if said else "no reason given"
    if "not permitted" in reason:
        return "no permission to set queueing disciplines; expected root or CAP_NET_ADMIN"
    number = stderr.rpartition("Command failed -:")[2].strip()
    failed = f" ({lines[int(number) - 1]})" if number.isdecimal() and int(number) <= len(lines) else ""
    return f"tc: {reason}{failed}"


def speed_bps(interface: str) -> int | None:
    """The rate of the line as its driver says; None: it does not."""
    try:
        text = Path(f"/sys/class/net/{interface}/speed").read_text(encoding="ascii")
    except OSError:
        return None
    return int(text) * 10**6 if text.strip().isdecimal() and int(text) else None
