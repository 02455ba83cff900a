# SPDX-License-Identifier: Apache-2.0
"""A campaign: a sample of the mutants of each module against the tests that call it, in a private copy of the tree."""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import imports
from mutation import calls
from mutation.children import KILLED, SLOW, SURVIVED
from mutation.mutants import Mutant, mutant_at, places_of
from mutation.swap import called_lines, function_at
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError

ROOT = Path(__file__).resolve().parents[3]
_PRELOADED = (
    "pytest",
    "hypothesis",
    "numpy",
    "scipy.sparse",
    "grpc",
    "google.protobuf.message",
    "yaml",
    "rich.console",
)
_MARKS = "not slow and not bench"
_LONGEST_S = 600.0


@dataclass(frozen=True)
class Module:
    """A target of mutation: a path in the repository, its tests (none: those that call it), modules to import ahead."""

    path: str
    tests: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()


def every(selected: Collection[str] = ("",), per_package: int | None = None, seed: int = 0) -> Iterator[Module]:
    """All modules of the product; which tests they have is for a map of calls to say.

    They come in a random order in which one of each package comes first, then a second one of each, and so on.

    Args:
        selected: parts of the paths.
        per_package: modules of a package; None: all.
        seed: determines the order.
    """
    paths = [path for path in _names() if _holds(path, selected) and not path.endswith("__init__.py")]
    packages: dict[str, list[Module]] = {}
    for path in random.Random(seed).sample(paths, len(paths)):
        own = packages.setdefault(package_of(path), [])
        if per_package is None or len(own) < per_package:
            own.append(Module(path, preload=("torch",)))
    for turn in range(max(map(len, packages.values()), default=0)):
        yield from (own[turn] for _, own in sorted(packages.items()) if turn < len(own))


@dataclass(frozen=True)
class Verdict:
    """Outcome of a mutant."""

    module: str
    operator: str
    occurrence: int
    line: int
    old: str
    new: str
    outcome: str
    reason: str = ""


def unscored(chosen: list[Module], progress: Path | None) -> list[Module]:
    """The modules of packages of which no verdict is noted yet."""
    scored = {package_of(verdict.module) for verdict in _read(progress)}
    return [module for module in chosen if package_of(module.path) not in scored]


def modules(selected: Collection[str] = ("",)) -> list[Module]:
    """Those of ``targets.toml`` whose path holds one of ``selected``."""
    groups = tomllib.loads(Path(__file__).with_name("targets.toml").read_text("utf-8"))["group"]
    return [
        Module(path, tuple(group["tests"]), tuple(group.get("preload", ())))
        for group in groups
        for path in group["modules"]
        if _holds(path, selected)
    ]


def _holds(path: str, parts: Collection[str]) -> bool:
    return any(part in path for part in parts)


def reasons() -> dict[tuple[str, str, str], str]:
    """Reasons why survivors change nothing that anybody can see: by module, old and new line."""
    survivors = tomllib.loads(Path(__file__).with_name("survivors.toml").read_text("utf-8")).get("survivor", [])
    return {(each["module"], each["old"], each["new"]): each["reason"] for each in survivors}


def sample(module: Module, share: float, most: int, seed: int, *, called: bool = False) -> list[Mutant]:
    """The mutants to try, the same for the same seed; with ``called`` within functions, where there are any."""
    source = (ROOT / module.path).read_text("utf-8")
    places = places_of(source)
    if called:
        lines = called_lines(source)
        places = [place for place in places if place.line in lines] or places
    count = min(most, max(1, round(share * len(places))), len(places))
    chosen = sorted(random.Random(f"{seed} {module.path}").sample(places, count))
    return [mutant for mutant in (mutant_at(source, place) for place in chosen) if mutant is not None]


def run(
    chosen: list[Module],
    *,
    share: float,
    most: int,
    seed: int,
    minutes: float,
    progress: Path | None,
    again: bool,
    called: bool = False,
    on_verdict: Callable[[Verdict, int, int], None],
    on_skip: Callable[[Module, str], None] | None = None,
    called_by: Sequence[calls.Called] = (),
    longest_s: float = _LONGEST_S,
) -> list[Verdict]:
    """Try the samples of all modules, as long as there is time; goes on where ``progress`` ended.

    Args:
        called: changes within functions only: those at import take a fresh process each.
        again: survivors without a reason are tried once more, since there may be new tests.
        on_skip: takes a module that has no tests, or none of whose tests passes without any mutant, and what they say.
        called_by: what each test calls, for modules that name none.
        longest_s: processor time for a module's tests without any mutant; further tests are left out.

    Raises:
        OfframpError: no test of a module passes in time without any mutant, and there is no ``on_skip``.
    """
    paths = {module.path for module in chosen} if again else set()
    verdicts = [v for v in _read(progress) if not (v.module in paths and v.outcome == SURVIVED and not v.reason)]
    known = {(v.module, v.old, v.new, v.line): v for v in verdicts}
    explained, end = reasons(), time.monotonic() + 60 * minutes
    with _copy() as folder, ExitStack() as stack:
        servers: dict[tuple[str, ...], subprocess.Popen[str]] = {}
        for module in chosen:
            mutants = sample(module, share, most, seed, called=called)
            rest = [m for m in mutants if (module.path, m.old, m.new, m.line) not in known]
            if not rest or time.monotonic() > end:
                continue
            tests = module.tests or _tests_of(module.path, rest, called_by)
            if not tests and on_skip is not None:
                on_skip(module, "no test calls it")
                continue
            if module.preload not in servers:
                servers[module.preload] = stack.enter_context(_server(folder, (*_PRELOADED, *module.preload)))
            task = {
                "name": _names()[module.path],
                "path": module.path,
                "tests": tests,
                "marks": _MARKS,
                "longest": longest_s,
                "until": end,
                "mutants": [{"text": m.text, "lines": _statement(module.path, m.line)} for m in rest],
            }
            done = 0
            for answer in _ask(servers[module.preload], task):
                if "outcome" not in answer:
                    if not answer["passed"]:
                        log = (folder / "mutant.log").read_text("utf-8", "replace")[-2000:]
                        if on_skip is None:
                            raise OfframpError(f"{module.path}: its tests do not pass without a mutant: {log}")
                        on_skip(module, log)
                    continue
                mutant, done = rest[answer["number"]], done + 1
                reason = explained.get((module.path, mutant.old, mutant.new), "")
                fields = {k: v for k, v in asdict(mutant).items() if k != "text"}
                verdict = Verdict(module.path, **fields, outcome=answer["outcome"], reason=reason)
                verdicts.append(verdict)
                on_verdict(verdict, done, len(rest))
                _write(progress, verdicts)
    return verdicts


def table(verdicts: list[Verdict], *, by_package: bool = False) -> str:
    """The score of each module, or of each package, and of all: killed of those that are not equivalent."""
    part = "Package" if by_package else "Module"
    lines = [f"| {part} | Mutants | Killed | Equivalent | Survived | Score |", "|---|---|---|---|---|---|"]
    groups: dict[str, list[Verdict]] = {}
    for each in sorted(verdicts, key=lambda v: v.module):
        groups.setdefault(package_of(each.module) if by_package else each.module, []).append(each)
    for name, own in [*groups.items(), ("all", verdicts)]:
        killed = sum(v.outcome in {KILLED, SLOW} for v in own)
        equivalent = sum(v.outcome == SURVIVED and bool(v.reason) for v in own)
        rest = len(own) - equivalent
        score = f"{100 * killed / rest:.0f} %" if rest else "-"
        lines.append(f"| `{name}` | {len(own)} | {killed} | {equivalent} | {rest - killed} | {score} |")
    return "\n".join(lines)


def package_of(path: str) -> str:
    """The package of a module: the folder under the one that holds the code, such as ``offramp/leo``."""
    return "/".join(Path(path).parent.parts[1:3])


@contextmanager
def _copy() -> Iterator[Path]:
    """The files of the working tree that git knows or would add, somewhere else."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True, capture_output=True
    )
    with temporary_folder() as temporary:  # if this process is killed, another one removes it
        for name in filter(None, listed.stdout.decode().split("\0")):
            source, target = ROOT / name, Path(temporary) / name
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        yield Path(temporary)


@contextmanager
def _server(folder: Path, preload: tuple[str, ...]) -> Iterator[subprocess.Popen[str]]:
    paths = [folder / name for name in ("base", "switch", "host", "sim", "cli", "tests/support")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "mutation.forks", *preload]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, text=True) as server:
        try:
            yield server
        finally:
            _pipe(server.stdin).close()
            server.terminate()


def _ask(server: subprocess.Popen[str], task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a server says of a module: once how many tests ``passed``, then each mutant's ``number`` and ``outcome``."""
    _pipe(server.stdin).write(json.dumps(task) + "\n")
    _pipe(server.stdin).flush()
    while True:
        line = _pipe(server.stdout).readline()
        if not line:
            raise OfframpError(f"{task['path']}: the process that runs its tests has ended")
        answer: dict[str, Any] = json.loads(line)
        if "done" in answer:
            return
        yield answer


def _statement(path: str, line: int) -> tuple[int, int]:
    """First and last line of the innermost statement that a line belongs to."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    spans = [(n.lineno, n.end_lineno or n.lineno) for n in ast.walk(tree) if isinstance(n, ast.stmt)]
    around = [(last - first, first, last) for first, last in spans if first <= line <= last]
    return min(around)[1:] if around else (line, line)


def _tests_of(path: str, mutants: Sequence[Mutant], called_by: Sequence[calls.Called]) -> tuple[str, ...]:
    source = (ROOT / path).read_text("utf-8")
    return calls.callers(called_by, path, {function_at(source, mutant.line) for mutant in mutants})


@cache
def _names() -> dict[str, str]:
    files = imports.read().files.items()
    return dict(sorted((str(path.relative_to(ROOT)), name) for name, path in files))


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def _read(path: Path | None) -> list[Verdict]:
    if path is None or not path.exists():
        return []
    explained = reasons()
    verdicts = [Verdict(**each) for each in json.loads(path.read_text("utf-8"))]
    return [Verdict(**{**asdict(v), "reason": explained.get((v.module, v.old, v.new), "")}) for v in verdicts]


def _write(path: Path | None, verdicts: list[Verdict]) -> None:
    if path is not None:
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        partial.write_text(json.dumps([asdict(v) for v in verdicts], indent=1), "utf-8")
        partial.replace(path)
