# SPDX-License-Identifier: Apache-2.0
"""Both ends of links as the agent's ports, and how a child that reflects is ended."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_sim.nic import links


def test_an_agent_has_both_ends_of_a_loop() -> None:
    with links.ends("loop") as ends:
        assert ends == ("loop", "")


def test_shared_memory_has_a_client_and_a_server_of_one_socket() -> None:
    with links.ends("memif") as (near, far):
        match = re.fullmatch(r"net_memif0,role=client,(socket=(.*)/memif\.sock,socket-abstract=no,rsize=11)", near)
        assert match
        assert far == f"net_memif0,role=server,{match[1]}"
        assert Path(match[2]).is_dir()
    assert not Path(match[2]).exists()


def test_interfaces_are_made_as_a_pair_and_removed_after_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(links, "ip", lambda *words: commands.append(words))
    monkeypatch.setattr("offramp_sim.nic.links.secrets.token_hex", lambda octets: "ab" * octets)
    wanted = [
        ("link", "set", "lo", "up"),
        ("link", "add", "nababab", "type", "veth", "peer", "name", "fababab"),
        ("link", "set", "nababab", "addrgenmode", "none", "up"),
        ("link", "set", "fababab", "addrgenmode", "none", "up"),
    ]
    link = links.ends("veth")
    assert (link.__enter__(), commands) == (("nababab", "fababab"), wanted)
    assert not link.__exit__(OfframpError, OfframpError("the measurement fails"), None)
    assert commands == [*wanted, ("link", "del", "nababab")]


class Child:
    """Stands for a process that ends by a signal, or only by force."""

    def __init__(self, *, deaf: bool) -> None:
        self.calls: list[Any] = []
        self._deaf = deaf

    def send_signal(self, number: signal.Signals) -> None:
        self.calls.append(number)

    def wait(self, seconds: float | None = None) -> None:
        self.calls.append(seconds)
        if self._deaf and seconds is not None:
            raise subprocess.TimeoutExpired("agent", seconds)

    def kill(self) -> None:
        self.calls.append("kill")


@pytest.mark.parametrize(("deaf", "further"), [(False, []), (True, ["kill", None])])
def test_a_child_that_does_not_react_in_5_s_is_killed(deaf: bool, further: list[Any]) -> None:
    child = Child(deaf=deaf)
    links.end(child, signal.SIGINT)  # type: ignore[arg-type]
    assert child.calls == [signal.SIGINT, 5.0, *further]


def _program(tmp_path: Path, words: str) -> Path:
    """An executable that says words and waits until its input ends."""
    path = tmp_path / "agent"
    path.write_text(
        f"#!{sys.executable} -SE\nimport sys\nprint({words!r}, sys.argv[1:], flush=True)\nsys.stdin.read()\n"
    )
    path.chmod(0o700)
    return path


def test_a_reflector_runs_as_long_as_the_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    children: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def noted(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
        children.append(popen(*arguments, **options))
        return children[-1]

    monkeypatch.setattr(links, "agent_program", lambda: _program(tmp_path, "ready"))
    monkeypatch.setattr("offramp_sim.nic.links.subprocess.Popen", noted)
    with links.reflector("far"):
        [child] = children
        assert child.poll() is None
        assert child.args[1:] == ["--reflect", "--until-eof", "--compression", "none", "--port", "far"]  # type: ignore[index]
    assert child.returncode == -signal.SIGTERM
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdin.closed
    assert child.stdout.closed


def test_a_reflector_that_is_not_ready_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(links, "agent_program", lambda: _program(tmp_path, "refused"))
    with pytest.raises(OfframpError, match="the other end of the link did not start"), links.reflector("far"):
        pass
