# SPDX-License-Identifier: Apache-2.0
"""Texts that become arguments: what each type takes and refuses, and what ssh and srun are given.

The oracles are the kernel, which names interfaces, and an ssh that writes down its arguments; blind to other versions
of ssh.
"""

from __future__ import annotations

import io
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offramp.cluster import parse_cluster
from offramp.cluster.model import ClusterHost, ClusterSwitch
from offramp.cluster.reach import command_on
from offramp_base import arguments
from offramp_base.errors import OfframpError
from offramp_cli.plain_console import PlainConsole

KINDS = {
    arguments.host_name: (
        ["h1", "gpu-1.rack.example", "10.0.0.1", "fe80::1", "a_b", "127.1"],
        ["", "-oProxyCommand=x", "a b", "a..b", "a;b", "$(x)", "fe80::1%eth0", "a" * 64, ".a", "h\n", "é"],
    ),
    arguments.host_address: (["10.0.0.1", "::1"], ["10.0.0.1/24", "h1", "1", "fe80::1%-x", "010.0.0.1", ""]),
    arguments.interface: (["eth0", "Ethernet12", "enp3s0f1.100", "br-0", "4lan"], ["-x", "", "a" * 16, "a b", "a/b"]),
    arguments.port: (["1", "65535"], ["0", "65536", "-1", "٣", "1 ", "", "9" * 5000]),
    arguments.path: (["/a b", "x", "./-x"], ["-x", "", "a\0b", "a\nb", "a\x1b[0m", "a\u202eb"]),
    arguments.label: (["h1", "a.b_c-d"], ["-a", "a-", "a/b", "..", "", "a" * 64, "a\n"]),
    arguments.service: (["10.0.0.1:1", "h:9559", "[::1]:9559", "unix:/a"], ["-h:1", "h", "h:0", "unix:-x", "[h]:1"]),
    arguments.word: (["a b", "<b>", "a\u200cb"], ["", "-x", "a\tb", "\x9b0m", "a\u061cb", "a\u200eb", "a\u200fb"]),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_type_takes_and_refuses(kind):
    taken, refused = KINDS[kind]
    for text in taken:
        assert str(kind(text)) == text
    for text in refused:
        with pytest.raises(ValueError, match=r"^expected "):
            kind(text)


@given(st.text(max_size=20))
def test_no_type_lets_an_option_or_an_escape_sequence_through(text):
    for kind in KINDS:
        try:
            taken = str(kind(text))
        except ValueError:
            continue
        assert not taken.startswith("-")
        assert arguments.control_character(taken) is None
        assert "\n" not in taken


@given(st.text())
def test_what_is_visible_has_no_control_characters_and_plain_text_is_left_alone(text):
    shown = arguments.visible(text)
    assert arguments.control_character(shown) is None
    assert (shown == text) == (arguments.control_character(text) is None)


def test_paths_stay_in_their_folder_whatever_links_are_there(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "out").symlink_to(tmp_path)
    inside = arguments.path_under(tmp_path / "in")
    assert inside("a/../b") == "b" or inside("a/../b") == "a/../b"
    for text in ("../x", "/etc/passwd", "out/x", "-x"):
        with pytest.raises(ValueError, match="expected a path"):
            inside(text)


def test_ssh_gets_a_destination_that_is_none_of_its_options(tmp_path):
    host = ClusterHost(name="h1", address="10.0.0.1", known_hosts=str(tmp_path / "keys"))
    words = command_on(host, ["ip", "link"])
    options = dict(each.split("=", 1) for each in words[2 : words.index("--") : 2])
    assert set(words[1 : words.index("--") : 2]) == {"-o"}
    assert (options["BatchMode"], options["StrictHostKeyChecking"]) == ("yes", "yes")
    assert options["UserKnownHostsFile"] == str(tmp_path / "keys")
    assert words[words.index("--") :] == ["--", "10.0.0.1", "ip link"]
    if shutil.which("ssh"):  # it reads all options, and prints what they come to
        done = subprocess.run([words[0], "-G", *words[1:]], capture_output=True, text=True, check=True)
        assert "hostname 10.0.0.1" in done.stdout.splitlines()
        assert f"userknownhostsfile {tmp_path / 'keys'}" in done.stdout.splitlines()
    srun = command_on(ClusterHost(name="h1", reach="srun"), ["-x"])
    assert srun[-2:] == ["--", "-x"]
    for wrong in (ClusterHost(name="h", address="-oProxyCommand=touch x"), ClusterSwitch(name="-s", reach="ssh")):
        with pytest.raises(OfframpError, match="expected a host's name"):
            command_on(wrong, ["x"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hosts[0].address", "-oProxyCommand=touch x"),
        ("hosts[0].known_hosts", "/a %h"),
        ("hosts[0].agents[0].interface", "eth0 up; x"),
        ("hosts[0].agents[0].name", "../../x"),
        ("hosts[0].agents[0].socket", "-x"),
        ("hosts[0].reach", "namespace:1/../../x"),
        ("switches[0].control", "-h:1"),
        ("switches[0].ca", "-x"),
        ("switches[0].interface", "-{port}"),
        ("name", "-x"),
        ("name", '"\\e[2J"'),
    ],
)
def test_hostile_texts_are_refused_where_the_file_has_them(field, value):
    rows = {"hosts[0].agents[0]": "", "hosts[0]": "", "switches[0]": "", "": ""}
    place, _, name = field.rpartition(".")
    rows[place] = f", {name}: {value if value[0] == chr(34) else chr(34) + value + chr(34)}"
    agent = rows["hosts[0].agents[0]"]
    text = (
        f"{rows[''][2:] or 'name: x'}\nhosts:\n  - {{name: h1{rows['hosts[0]']}, agents: [{{"
        f"{'name: nic' if 'name' not in agent else ''}{agent if 'name' not in agent else agent[2:]}}}]}}\n"
        f"switches:\n  - {{name: s{rows['switches[0]']}}}\nlinks:\n  - {{ends: [h1, s], rate: 1gbit}}\n"
    )
    with pytest.raises(OfframpError, match=r"cluster.yaml:\d") as refusal:
        parse_cluster(text)
    assert field in str(refusal.value) or "control character" in str(refusal.value)
    assert "expected" in str(refusal.value) or "control character" in str(refusal.value)


def test_terminals_obey_rich_alone():
    file = io.StringIO()
    console = PlainConsole(file=file, force_terminal=True, width=40, color_system="standard")
    console.print("a\x1b]0;title\x07 \x9b2J [/b] [red]x :boom:", style="bold")
    text = file.getvalue()
    assert text.startswith("\x1b[1m")
    assert "\x1b]" not in text
    assert "\x9b" not in text
    assert r"a\x1b]0;title" in text
    assert "[/b] [red]x :boom:" in text
