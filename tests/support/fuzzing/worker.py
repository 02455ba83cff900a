# SPDX-License-Identifier: Apache-2.0
"""The process that runs cases of one target, one after the other; the parent watches it from outside.

Findings go to the parent as lines of JSON. Exceptions are judged here; a hang, a death and what a limit of memory kills
are for the parent to see.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

from fuzzing.packages import of_offramp
from fuzzing.progress import Progress
from fuzzing.target import Target, case_rng, load
from offramp_base.errors import OfframpError

_PR_SET_PDEATHSIG = 1
_LONGEST_MESSAGE = 24_100  # the longest escape of a character is six times as long


def main() -> None:
    """Run cases from ``--first`` on, for ``--seconds`` or ``--cases``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--progress", type=Path, required=True)
    parser.add_argument("--findings", type=int, required=True, help="descriptor that findings are written to")
    args = parser.parse_args()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)  # the parent asks where a case hangs
    target = load(args.path)
    target.prepare()
    gc.freeze()  # or each collection walks the modules that prepare has imported
    _limit_memory(target.memory_mib)
    progress = Progress(args.progress)
    case, until = args.first, time.monotonic() + args.seconds
    with os.fdopen(args.findings, "w", buffering=1, encoding="utf-8") as out:
        while case < args.first + args.cases and (time.monotonic() < until or case == args.first):
            progress.begin(case)
            finding = _one(target, args.seed, case)
            if finding is not None:
                out.write(json.dumps({"case": case, **finding}) + "\n")
                gc.collect()  # a traceback holds what a case allocated
            case += 1
        out.write(json.dumps({"next": case}) + "\n")


def _one(target: Target, seed: int, case: int) -> dict[str, str] | None:
    try:
        target.run(case_rng(target.name, seed, case))
    except OfframpError as error:
        problem = _unreadable(str(error), target.lines)
        if problem:
            return {"kind": f"message {problem}", "where": _where(error), "text": ascii(str(error)[:500])}
    except target.allowed:
        pass
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = "".join(traceback.format_exception(error, limit=-12))
        return {"kind": type(error).__name__, "where": _where(error), "text": text[-4000:]}
    return None


def _unreadable(message: str, lines: int) -> str:
    """The reason why a user cannot read a message, or nothing."""
    if not message.strip():
        return "empty"
    if len(message) > _LONGEST_MESSAGE:
        return "too long"
    if message.count("\n") >= lines:
        return f"of more than {lines} lines"
    if not all(c.isprintable() or c in "\n\t" for c in message):
        return "with control characters"
    return ""


def _where(error: BaseException) -> str:
    """The last line of Offramp's own that the error passed, else the last one at all."""
    frames = list(traceback.extract_tb(error.__traceback__))
    frames = [frame for frame in frames if of_offramp(frame.filename)] or frames
    if not frames:
        return "?"
    last = frames[-1]
    return f"{'/'.join(Path(last.filename).parts[-3:])}:{last.lineno}"


def _limit_memory(mib: int) -> None:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + (mib << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main())
