# SPDX-License-Identifier: Apache-2.0
"""The process that tries a pushed program first, within limits of memory and time, and compiles its machine code.

It reads one job from its standard input, a line of JSON, and writes lines of JSON to its standard output: ``ready``
when it can take the job, ``built`` when the program has been translated, ``code`` with a number of bytes that follow
for each piece of machine code, and at the end ``done`` or ``error``. It ends with its parent.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import BinaryIO, Final

from offramp_base.errors import OfframpError
from offramp_base.native.cache import ObjectCache

OUT_OF_MEMORY: Final = 3
"""Exit status of a compilation that ran out of memory."""


class _Sender(ObjectCache):
    """Hands machine code to the parent, which keeps it; what has been compiled before is used."""

    def __init__(self, out: BinaryIO) -> None:
        super().__init__()
        self._out = out

    def get(self, key: str) -> bytes | None:
        """The bytes stored for ``key``, or None."""
        self.say("built")
        return super().get(key)

    def put(self, key: str, payload: bytes | bytearray) -> None:
        """Send ``payload`` to the parent, which knows its key."""
        del key
        self.say("code", bytes=len(payload))
        self._out.write(payload)
        self._out.flush()

    def say(self, what: str, **more: object) -> None:
        """Write a line."""
        self._out.write(json.dumps({"what": what, **more}).encode() + b"\n")
        self._out.flush()


def main() -> None:
    """Do one job."""
    # Everything that a job needs is loaded before the job comes, so that a process can wait for it.
    from offramp_base.p4rt import p4info
    from offramp_base.p4rt.schema import v1
    from offramp_p4 import native
    from offramp_p4.maker import SwitchMaker
    from offramp_p4.runtime.device_config import DeviceConfig
    from offramp_p4.runtime.pipeline import Pipeline
    from offramp_p4.source import quoting_only_given

    del native
    sender = _Sender(sys.stdout.buffer)
    sender.say("ready")
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return  # the parent has gone
    job = json.loads(line)
    _limit(job["seconds"], job["memory"])
    make = SwitchMaker.from_plain(job["maker"])
    try:
        with quoting_only_given():
            p4info_bytes = bytes.fromhex(job["p4info"])
            program = DeviceConfig(job["text"], p4info_bytes).load(job["name"])
            config = v1.ForwardingPipelineConfig(p4info=p4info.parse(p4info_bytes)) if p4info_bytes else None
            Pipeline(program, lambda p: make(p, sender), config)
    except OfframpError as error:
        sender.say("error", text=str(error))
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    else:
        sender.say("done")


def _limit(seconds: float, memory: int) -> None:
    """Bound this process and those that it starts."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
