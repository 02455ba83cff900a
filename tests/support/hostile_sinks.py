# SPDX-License-Identifier: Apache-2.0
"""Watches what is executed, written and served while hostile files are read and their contents go everywhere.

The interpreter's audit hooks see every program that is started and every file that is opened, whoever does it: a
program is judged by its arguments and never started (the canary in its place), a file outside the working folder is
not written.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import hostile_texts
from offramp_base.arguments import control_character, host_name

MARK = hostile_texts.MARK
PROGRAMS = {"ssh", "srun", "ip", "tc", "env", "nsenter"}
_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate", "os.chmod"}
_TWO_PATHS = {"os.rename", "os.link", "os.symlink"}
_STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "pty.spawn"}
_CONNECTS = {"socket.connect", "socket.gethostbyname", "urllib.Request"}
_MOST_TAGS = 10_000
_SPECIAL = re.compile(r"[;&|`$<>(){}\n\r\0]")


class HostileAction(Exception):
    """Something hostile was executed, written or served."""


class _Canary(OSError):
    """A program that would have been started with harmless arguments."""


class Watch:
    """Sees what this process starts and writes; one hook for the process, since none can be removed."""

    def __init__(self) -> None:
        self.acts: list[str] = []
        self.started = 0
        self._watching = False
        self._here = ""
        self._temporary = tempfile.gettempdir()  # which writes a file to find out, so the hook must not ask
        sys.addaudithook(self._hook)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Raise at the end if something hostile was done meanwhile, even where the reader has caught the error."""
        self.acts, self._here = [], str(Path.cwd())
        self._watching = True
        try:
            yield
        finally:
            self._watching = False
        if self.acts:
            raise HostileAction("; ".join(self.acts[:3]))

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._watching:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes | os.PathLike) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._wrote(os.fsdecode(path))
        elif event in _CHANGES:
            for path in arguments[: 2 if event in _TWO_PATHS else 1]:
                if isinstance(path, str | bytes | os.PathLike):
                    self._wrote(os.fsdecode(path))
        elif event in _STARTS:
            self._begun(event, arguments)
        elif event == "socket.getaddrinfo":
            self._looked_up(arguments[0])
        elif event in _CONNECTS:
            self._act(f"connects: {event} {arguments[-1]!r}")
        elif event == "pickle.find_class" or (event == "import" and MARK in str(arguments[0])):
            self._act(f"loads {arguments!r}")
        elif event == "exec" and MARK in str((arguments[0].co_names, arguments[0].co_consts)):
            self._act(f"executes {arguments[0]!r}")

    def _begun(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            self.started += 1
            try:
                check_command([os.fsdecode(word) for word in arguments[1]])
            except HostileAction as act:
                self._act(str(act))
            raise _Canary(2, "canary")
        self._act(f"starts {event} {arguments!r}")

    def _looked_up(self, host: Any) -> None:
        """A host's name may be looked up where a command's user names it; no other text may reach the resolver."""
        try:
            host_name(str(host))
        except ValueError:
            self._act(f"looks {host!r} up")
        raise _Canary(2, "canary")

    def _wrote(self, path: str) -> None:
        whole = os.path.realpath(path)
        ours = (f"{self._temporary}/{name}" for name in ("offramp-", "torchinductor_"))
        own = (self._here + "/", *ours, str(Path.home() / ".cache"), "/dev/null")
        if "__pycache__" not in whole and not (whole + "/").startswith(own):
            self._act(f"writes {path!r}")

    def _act(self, act: str) -> None:
        self.acts.append(act)
        raise HostileAction(act)


def check_command(words: Sequence[str]) -> None:
    """Refuse a command in which a text of a file is an option, a second command, or an escape sequence."""
    program = Path(words[0]).name
    if program not in PROGRAMS:
        raise HostileAction(f"starts {words!r}")
    for word in words:
        if control_character(word) or "\n" in word:
            raise HostileAction(f"a control character in {words!r}")
    end = words.index("--") if "--" in words else len(words)
    for word in words[1:end]:
        reads = program == "ssh" and word.startswith("UserKnownHostsFile=/")  # a file's to name; ssh only reads it
        if MARK in word and not reads and (word.startswith("-") or program == "ssh"):
            raise HostileAction(f"an option in {words!r}")
    if program == "ssh":
        if end == len(words) or not re.fullmatch(r"[A-Za-z0-9:][A-Za-z0-9._:-]*", words[end + 1]):
            raise HostileAction(f"no destination in {words!r}")
        remote = " ".join(words[end + 2 :])
        if shlex.join(shlex.split(remote)) != remote:
            raise HostileAction(f"the other shell reads more than words in {words!r}")


def check_line(line: str) -> None:
    """Refuse a line that ``ip -batch``, ``tc -batch`` or a container's start would read as more than words."""
    if _SPECIAL.search(line) or control_character(line):
        raise HostileAction(f"more than words: {line!r}")


def check_script(script: str) -> None:
    """Refuse a shell script in which the mark is a command, an expansion or a line of its own."""
    for line in script.splitlines():
        bare = line.lstrip()
        if bare.startswith("#") and not bare.startswith("#SBATCH"):
            continue
        if MARK in line and (bare.startswith(MARK) or re.search(rf"[;&|`$(]\s*\(?{MARK}|^X-", bare)):
            raise HostileAction(f"the shell executes {line!r}")


def check_shown(shown: str) -> None:
    """Refuse output that a terminal would obey."""
    if control_character(shown):
        raise HostileAction(f"the terminal obeys {shown!r}"[:400])


def check_page(page: str) -> None:
    """Refuse a page in which a browser would find a script, an attribute or an address that a file brought."""
    browser = _Browser()
    browser.feed(page)
    if MARK in browser.rawdata:  # in a tag or a script without an end
        raise HostileAction(f"unfinished: {browser.rawdata!r}"[:400])


def check_metrics(text: str) -> None:
    """Refuse metrics with a line that is none, or of a name that is none of ours (Prometheus' text format)."""
    sample = re.compile(
        r'(# (HELP|TYPE) )?offramp_\w+(\{\w+="(?:[^"\\\n]|\\[\\n"])*"(,\w+="(?:[^"\\\n]|\\[\\n"])*")*\})? .+'
    )
    for line in text.split("\n")[:-1]:
        if not sample.fullmatch(line):
            raise HostileAction(f"no sample: {line!r}")


class _Browser(HTMLParser):
    """Reads pages as a browser does; a start tag whose very text has passed in an earlier page is not split again."""

    _passed: ClassVar[set[str]] = set()

    def __init__(self) -> None:
        super().__init__()
        self._raw = ""

    def updatepos(self, i: int, j: int) -> int:
        """No lines are counted, since nobody asks for them."""
        del i
        return j

    def parse_starttag(self, i: int) -> int:
        """The end of the start tag at ``i``."""
        end: int = self.check_for_whole_start_tag(i)
        text = self.rawdata[i:end]
        if end > i and text in self._passed:
            self._raw = ""
            return end
        end = super().parse_starttag(i)
        if not self._raw and not self.cdata_elem and MARK not in text and len(self._passed) < _MOST_TAGS:
            self._passed.add(text)
        return end

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._raw = tag if tag in ("script", "style") else ""
        for name, value in attrs:
            if name.startswith("on") or MARK in name:
                raise HostileAction(f"attribute {name}={value}")
            if name in ("href", "src", "action", "xlink:href") and not (value or "").startswith(("#", "data:")):
                raise HostileAction(f"address {name}={value}")
        if tag in ("img", "iframe", "object", "embed", "base", "form", "link") and MARK in str(attrs):
            raise HostileAction(f"element {tag}")

    def handle_endtag(self, tag: str) -> None:
        self._raw = ""

    def handle_data(self, data: str) -> None:
        if self._raw and MARK in data:
            raise HostileAction(f"{self._raw} with {data!r}")
