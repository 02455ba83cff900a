# SPDX-License-Identifier: Apache-2.0
"""Dissectors from programs: their text, what they show in Lua, and in tshark where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_base.wire import pcap
from offramp_p4.frontend import load_text
from offramp_p4_tools.dissector import dissector

pytestmark = pytest.mark.p4

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header eth_t { bit<48> dst; bit<48> src; bit<16> kind; }
header vlan_t { bit<3> pcp; bit<1> dei; bit<12> vid; bit<16> kind; }
header opt_t { bit<4> words; bit<4> rest; bit<32> ip; varbit<120> more; }
struct headers { eth_t eth; vlan_t[2] vlan; opt_t opt; }
struct meta { bit<8> seen; }
parser P(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        b.extract(h.eth);
        transition select(h.eth.kind, h.eth.dst) {
            (0x8100, _) : vlan;
            (0x1200 &&& 0xff00, 0x010203040506) : opt;
            (5 .. 7, _) : port;
            default : accept;
        }
    }
    state vlan {
        b.extract(h.vlan.next);
        m.seen = m.seen + 1;
        transition select(h.vlan.last.kind, m.seen) { (0x8100, 1) : vlan; (3, 2) : opt; }
    }
    state opt {
        b.extract(h.opt, (bit<32>) b.lookahead<bit<4>>() * 8);
        transition accept;
    }
    state port { transition select(s.ingress_port) { 1 : opt; default : accept; } }
}
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in headers h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""
ADDRESSES = "010203040506" + "0a0b0c0d0e0f"
OPT = "21c0a80001aabb"
TWO_TAGS = ADDRESSES + "8100" + "6005" + "8100" + "1006" + "0003" + OPT + "ff"


def written(**options: str) -> str:
    return dissector(load_text(PROGRAM, "tags.p4"), "tags", **options)


def test_every_header_and_state_is_there() -> None:
    text = written()
    assert re.findall(r'^headers\["(\w+)"\]', text, re.MULTILINE) == ["eth_t", "vlan_t", "opt_t"]
    assert re.findall(r'^states\["(\w+)"\]', text, re.MULTILINE) == ["start", "vlan", "opt", "port"]
    assert 'ProtoField.ether("tags.eth.dst", "dst")' in text
    assert 'ProtoField.ipv4("tags.opt.ip", "ip")' in text
    assert 'return stop(c, "s.ingress_port")' in text
    assert text.rstrip().endswith('register("wtap_encap", 1, "start")')
    assert 'register("udp.port", 5000, "opt")' in written(table="udp.port=5000", start="opt")
    words = re.findall(r"\b(?:function|if|do|for|while|end)\b", re.sub(r'--.*|"[^"]*"', "", text))
    loops = words.count("for") + words.count("while")
    assert words.count("end") == len(words) - words.count("end") - loops, "a loop's do has the loop's end"


def test_values_and_constants_in_lua() -> None:
    body = "bit<8> none; bit<8> kept = 7; bool yes = true; bool no = false; bit<8> low = (bit<8>)h.eth.kind; "
    body += "bit<8> lost = 8w3 / kept;"
    text = dissector(load_text(PROGRAM.replace("b.extract(h.eth);", "b.extract(h.eth); " + body), "tags.p4"), "tags")
    values = dict(re.findall(r'^ *c\.values\["([\w.]+)"\] = (.*)$', text, re.MULTILINE))
    assert {name: values.get(name) for name in ("kept", "yes", "no", "low")} == {
        "kept": "7",
        "yes": "true",
        "no": "false",
        "low": '(value(c, "h.eth.kind", 16)) % 256',
    }
    assert "none" not in values


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "none"}, "parser P has no state none: expected one of start, vlan, opt, port"),
        ({"table": "udp.port"}, "udp.port: expected TABLE=VALUE"),
        ({"table": "udp.port=1) os.exit("}, "expected TABLE=VALUE"),
    ],
)
def test_golden_errors(options: dict[str, str], message: str) -> None:
    with pytest.raises(OfframpError) as error:
        written(**options)
    assert message in str(error.value)


def test_what_lua_shows() -> None:
    lupa = pytest.importorskip("lupa")
    lua = lupa.LuaRuntime(encoding="latin-1")
    lua.execute((Path(__file__).parent / "wireshark.lua").read_text())
    lua.execute(written())

    def shown(digits: str) -> list[str]:
        return str(lua.globals().dissect("wtap_encap=1", bytes.fromhex(digits).decode("latin-1"))).splitlines()

    two = shown(TWO_TAGS)
    assert two[1:5] == [
        f" tags {ADDRESSES}8100 h.eth",
        "  ether tags.eth.dst 010203040506",
        "  ether tags.eth.src 0a0b0c0d0e0f",
        "  uint32 tags.eth.kind 8100",
    ]
    assert " tags 60058100 h.vlan[0]" in two
    assert "  uint32 tags.vlan.pcp 60 3" in two
    assert "  uint32 tags.vlan.vid 6005 5" in two
    assert " tags 10060003 h.vlan[1]" in two
    assert f" tags {OPT} h.opt" in two
    assert "  ipv4 tags.opt.ip c0a80001" in two
    assert "  bytes tags.opt.more aabb" in two
    assert two[-1] == "data ff"
    assert f" tags {OPT} h.opt" in shown(ADDRESSES + "12ab" + OPT)
    assert not any("h.opt" in line for line in shown("01020304050f0a0b0c0d0e0f12ab" + OPT)), "another destination"
    assert shown(ADDRESSES + "0006" + OPT)[-2].endswith("[the parser's next state depends on: s.ingress_port]")
    assert shown(ADDRESSES + "8100" + "60050009")[-1].endswith("[the parser rejects this packet]")
    assert shown(ADDRESSES + "81006005")[-3].endswith("h.vlan[0] [cut off]")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not on PATH")
def test_what_tshark_shows(tmp_path: Path) -> None:
    (tmp_path / "tags.lua").write_text(written())
    pcap.write(tmp_path / "tags.pcap", [(0, bytes.fromhex(TWO_TAGS))])
    command = ["tshark", "-X", f"lua_script:{tmp_path}/tags.lua", "-r", str(tmp_path / "tags.pcap"), "-T", "fields"]
    command += [word for name in ("tags.vlan.vid", "tags.opt.ip", "tags.opt.more") for word in ("-e", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["5,6", "192.168.0.1", "aabb"]


def lines_of(body: str) -> list[str]:
    """The lines of the function of state ``port``, whose P4 is given."""
    whole = re.sub(r"state port \{.*\}\n", f"state port {{ {body} }}\n", PROGRAM)
    text = dissector(load_text(whole, "tags.p4"), "tags")
    lines = text[text.index('states["port"] = ') :].splitlines()[1:]
    return [line.strip() for line in lines[: lines.index("end")] if line.strip()]


def test_an_advance_and_the_end_of_a_state() -> None:
    assert lines_of("b.advance(16); transition accept;") == ["c.at = c.at + 16", 'do return "accept" end']
    assert lines_of("transition select(h.eth.kind) { 5: accept; }")[-1] == 'return "reject"'


def test_a_case_that_captures_do_not_decide_stops_and_those_behind_it_are_there() -> None:
    lines = lines_of("transition select(h.eth.kind, m.seen) { (5, _): opt; (_, 3): vlan; default: accept; }")
    assert [re.sub(r"^.*return ", "return ", line) for line in lines] == [
        'return "opt" end', 'return "vlan" end', 'return "accept" end', 'return "reject"'
    ]  # fmt: skip


def test_a_single_bit_can_be_cast() -> None:
    lines = lines_of("bit<8> one = (bit<8>)h.vlan[0].dei; transition accept;")
    assert lines[0] == 'c.values["one"] = (value(c, "h.vlan[0].dei", 1)) % 256'
