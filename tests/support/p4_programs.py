# SPDX-License-Identifier: Apache-2.0
"""Small v1model programs to hang a construct into."""

from __future__ import annotations

SHELL = """\
#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> a; bit<8> b; bit<16> c; }}
struct headers {{ h_t h; h_t[3] s; }}
struct meta_t {{ bit<8> m; bit<32> w; }}
{top}
parser P(packet_in pkt, out headers hdr, inout meta_t meta, inout standard_metadata_t sm) {{
    {plocals}
    state start {{ pkt.extract(hdr.h); {pbody} }}
    {states}
}}
control VC(inout headers hdr, inout meta_t meta) {{ apply {{ }} }}
control I(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) {{
    {locals}
    apply {{
        {body}
    }}
}}
control E(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) {{ apply {{ }} }}
control CC(inout headers hdr, inout meta_t meta) {{ apply {{ }} }}
control D(packet_out pkt, in headers hdr) {{ apply {{ pkt.emit(hdr); }} }}
V1Switch(P(), VC(), I(), E(), CC(), D()) main;
"""


def program(
    body: str = "", *, top: str = "", local: str = "", plocals: str = "", states: str = "", pbody: str = ""
) -> str:
    """A complete program; ``body`` is the ingress apply block."""
    return SHELL.format(
        top=top, plocals=plocals, states=states, pbody=pbody or "transition accept;", locals=local, body=body
    )
