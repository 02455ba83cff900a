# SPDX-License-Identifier: Apache-2.0
"""Runs tests over the mutants of modules, in forks of a process that has imported what is slow to import.

Started in a private copy of the tree, whose modules it never imports itself. A module with its mutants per line of the
standard input; answers, one per line, on the standard output. A fork imports the module and its tests, and each mutant
runs in a fork of that one (:mod:`mutation.session`); mutants of what runs at import are run in a fork of this process.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from mutation import children, session
from mutation.caches import own_cache, renew

_LOG = "mutant.log"


def main() -> None:
    """Serve modules until there are no more."""
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with own_cache():
        _serve()


def _serve() -> None:
    for line in sys.stdin:
        task = json.loads(line)
        late = []
        for answer in _answers(task):
            if "tests" in answer:
                late.append(answer)
            else:
                _say(answer)
        passes = cache(partial(_outcome, task))
        for each in late:
            tests = tuple((name, *times) for name, times in each["tests"].items())
            with mutated(Path(task["path"]), task["mutants"][each["number"]]["text"]):
                outcome = _outcome(task, tests)
            if outcome != children.KILLED or passes(tests) == children.SURVIVED:
                _say({"number": each["number"], "outcome": outcome})
        _say({"done": True})


def _outcome(task: dict[str, Any], tests: tuple[tuple[str, float, float], ...]) -> str:
    """What becomes of a child of this process that runs tests, each with the times that it takes without a mutant."""
    renew(task["path"])
    alarms = session.Alarms({name: cpu_s for name, cpu_s, _ in tests})
    child = children.fork(partial(_pytest, ["-m", task["marks"], *(name for name, _, _ in tests)], alarms))
    return children.outcome(child, *session.limits(times for _, *times in tests))


@contextmanager
def mutated(path: Path, text: str) -> Iterator[None]:
    """The module's file with a change, for processes that import it; what was compiled of it is gone."""
    original = path.read_bytes()
    try:
        path.write_text(text, "utf-8")
        _forget(path)
        yield
    finally:
        path.write_bytes(original)
        _forget(path)


def _forget(path: Path) -> None:
    for stale in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        stale.unlink(missing_ok=True)


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)  # noqa: T201


def _answers(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            children.die_with_parent()
            os.close(reader)
            _pytest(["-m", task["marks"], *task["tests"]], session.MutantRuns(task, writer, mutated))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as answers:
        yield from map(json.loads, answers)
    os.waitpid(child, 0)


def _pytest(arguments: list[str], *plugins: object) -> int:
    log = os.open(_LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    null = os.open(os.devnull, os.O_RDONLY)
    for number, target in enumerate((null, log, log)):
        os.dup2(target, number)
    import pytest

    status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments], list(plugins)))
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    main()
