# SPDX-License-Identifier: Apache-2.0
"""Small TNA programs to hang a construct into."""

from __future__ import annotations

from typing import Any

import offramp_p4
from offramp_p4 import PlainSwitch, ir

engine = "python"
"""The engine that runs the test."""

SHELL = """\
#include <core.p4>
{arch}
header h_t {{ bit<8> a; bit<8> b; bit<16> c; bit<32> w; }}
header mirror_h {{ bit<8> kind; bit<16> x; }}
header bridge_h {{ bit<8> note; }}
header resubmit_h {{ bit<8> tag; bit<56> rest; }}
struct headers {{ bridge_h bridge; mirror_h mirror; h_t h; h_t inner; }}
struct meta_t {{ bit<8> m; bit<16> x; bit<32> w; bool flag; MirrorId_t session; resubmit_h again; mirror_h copy; }}
{top}
parser IP(packet_in pkt, out headers hdr, out meta_t md, out ingress_intrinsic_metadata_t ig) {{
    {iplocals}
    state start {{
        pkt.extract(ig);
        transition select(ig.resubmit_flag) {{ 1: again; 0: port; }}
    }}
    state again {{ pkt.extract(md.again); transition first; }}
    state port {{ {port} transition first; }}
    state first {{ pkt.extract(hdr.h); {ipbody} }}
    {ipstates}
}}
control I(inout headers hdr, inout meta_t md, in ingress_intrinsic_metadata_t ig,
          in ingress_intrinsic_metadata_from_parser_t prsr,
          inout ingress_intrinsic_metadata_for_deparser_t dprsr,
          inout ingress_intrinsic_metadata_for_tm_t tm) {{
    {local}
    apply {{
        {body}
    }}
}}
control ID(packet_out pkt, inout headers hdr, in meta_t md, in ingress_intrinsic_metadata_for_deparser_t dprsr) {{
    {idlocal}
    apply {{ {idbody} pkt.emit(hdr); }}
}}
parser EP(packet_in pkt, out headers hdr, out meta_t md, out egress_intrinsic_metadata_t eg) {{
    state start {{ pkt.extract(eg); {epbody} }}
    {epstates}
}}
control E(inout headers hdr, inout meta_t md, in egress_intrinsic_metadata_t eg,
          in egress_intrinsic_metadata_from_parser_t prsr,
          inout egress_intrinsic_metadata_for_deparser_t dprsr,
          inout egress_intrinsic_metadata_for_output_port_t oport) {{
    {elocal}
    apply {{ {ebody} }}
}}
control ED(packet_out pkt, inout headers hdr, in meta_t md, in egress_intrinsic_metadata_for_deparser_t dprsr) {{
    {edlocal}
    apply {{ {edbody} pkt.emit(hdr); }}
}}
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"""


def tna(body: str = "", **parts: str) -> str:
    """A complete program; ``body`` is the apply block of ingress, and all packets are of at least 8 bytes."""
    names = ("top", "local", "iplocals", "ipstates", "idlocal", "idbody", "epstates", "elocal", "ebody", "edlocal")
    holes = dict.fromkeys((*names, "edbody"), "")
    holes |= {
        "arch": "#include <tna.p4>",
        "port": "pkt.advance(PORT_METADATA_SIZE);",
        "ipbody": "transition accept;",
        "epbody": "pkt.extract(hdr.h); transition accept;",
    }
    unknown = parts.keys() - holes.keys()
    assert not unknown, unknown
    return SHELL.format(body=body, **{**holes, **parts})


def packet(a: int = 0, b: int = 0, c: int = 0, w: int = 0, rest: bytes = b"") -> bytes:
    """A packet of that program."""
    return bytes([a, b]) + c.to_bytes(2, "big") + w.to_bytes(4, "big") + rest


def make(program: ir.Program, **options: Any) -> PlainSwitch:
    """A switch of the engine that runs the test."""
    return offramp_p4.make_switch(program, engine, **options)
