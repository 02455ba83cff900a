# SPDX-License-Identifier: Apache-2.0
"""Become the program of a rank, with torchrun's variables, whichever launcher started this process.

``srun python -m offramp.workers.run_rank python train.py`` and the same behind ``mpirun -n 4`` start any program that
calls ``init_process_group`` with the environment's place. ``--log FOLDER`` writes ``rank-N.log`` there; ``--in FOLDER``
is where the program runs if this machine has that folder. With ``--while-connected`` the program ends when standard
input does: ssh without a terminal leaves a program running when its connection ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Final

from offramp.workers.place import find_place
from offramp_base.ending.linux import signal_at_parents_end
from offramp_base.errors import OfframpError

_GRACE_S: Final = 5.0
_POLL_S: Final = 0.05
_SIGNALLED: Final = 128


def main() -> None:
    """Become the program, or wait for it."""
    words, folder, connected = _arguments(sys.argv[1:])
    try:
        set_place(os.environ)
    except OfframpError as error:
        sys.exit(str(error))
    if folder is not None:
        _log_to(folder / f"rank-{os.environ.get('RANK', '0')}.log")
    if connected:
        sys.exit(run_while_connected(words))
    try:
        os.execvp(words[0], words)  # noqa: S606 - the command that the job has for this rank
    except OSError as error:
        sys.exit(f"{words[0]}: {error.strerror}")


def set_place(environment: MutableMapping[str, str]) -> None:
    """Set torchrun's variables where srun or mpirun has told the place of this process; elsewhere nothing changes.

    Raises:
        OfframpError: a launcher's variable is missing or invalid.
    """
    place = find_place(environment)
    if place is None or "RANK" in environment:
        return
    environment["RANK"], environment["WORLD_SIZE"] = str(place.rank), str(place.size)
    environment["LOCAL_RANK"], environment["LOCAL_WORLD_SIZE"] = str(place.local), str(place.on_machine)
    environment.setdefault("MASTER_ADDR", place.host(environment))
    environment.setdefault("MASTER_PORT", str(place.port(environment)))


def run_while_connected(words: Sequence[str]) -> int:
    """Run a program until it ends, or standard input does; its exit status, as a shell has it.

    What the program has started ends with it. The program itself is killed where this process is.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    here = os.getpid()
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=lambda: signal_at_parents_end(signal.SIGKILL, here),  # noqa: PLW1509 - without threads
        )
    except OSError as error:
        sys.stderr.write(f"{words[0]}: {error.strerror}\n")
        return 127
    ended = os.pidfd_open(process.pid)
    try:
        while ended not in (ready := select.select([ended, 0], [], [])[0]):
            if 0 in ready and not os.read(0, 4096):
                break
    except KeyboardInterrupt:
        pass
    _end(process)
    code = process.wait()
    return code if code >= 0 else _SIGNALLED - code


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program within a grace period, and then whatever of its group still runs."""
    deadline = time.monotonic() + _GRACE_S
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _log_to(path: Path) -> None:
    try:
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}: the job's folder must be one that all hosts see")
    os.dup2(log, 1)
    os.dup2(log, 2)


def _arguments(words: Sequence[str]) -> tuple[list[str], Path | None, bool]:
    rest, folder, connected = list(words), None, False
    while rest and rest[0].startswith("--"):
        option = rest.pop(0)
        if option == "--":
            break
        if option == "--while-connected":
            connected = True
        elif option == "--log" and rest:
            folder = Path(rest.pop(0))
        elif option == "--in" and rest:
            with contextlib.suppress(OSError):
                os.chdir(rest.pop(0))
        else:
            sys.exit(f"{option}: expected --log FOLDER, --in FOLDER, --while-connected, or a program")
    if not rest:
        sys.exit("expected a program and its arguments")
    return rest, folder, connected


if __name__ == "__main__":
    main()
