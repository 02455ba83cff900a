# SPDX-License-Identifier: Apache-2.0
"""Requests of a client in an environment of its own to the test around it: to send and to expect frames."""

import sys


def _ask(*words):
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()
    answer = sys.stdin.readline().strip()
    assert answer == "ok", f"{' '.join(words)}: {answer}"


def send(port, frame):
    """Have the test send a frame into a port of the switch."""
    _ask("send", str(port), frame.hex())


def expect(port, frame):
    """Have the test see a frame leave by a port."""
    _ask("expect", str(port), frame.hex())


def ethernet(dst, src=0, type=0x9000):  # noqa: A002
    """A header with the addresses that the programs here use."""
    return (0x02_00_00_00_00_00 | dst).to_bytes(6, "big") + src.to_bytes(6, "big") + type.to_bytes(2, "big")
