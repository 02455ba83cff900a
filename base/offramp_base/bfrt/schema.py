# SPDX-License-Identifier: Apache-2.0
"""BF-RT message classes, built at run time from the table in :mod:`messages`."""

from __future__ import annotations

from offramp_base.bfrt import messages
from offramp_base.p4rt.messages import RPC
from offramp_base.p4rt.schema import ANY, ProtoPackage, build

_, _NAMESPACES = build(
    [ProtoPackage("google.rpc", RPC, [ANY]), ProtoPackage("bfrt_proto", messages.BFRT, ["offramp/google.rpc"])]
)
bf = _NAMESPACES["bfrt_proto"]
"""Messages of ``bfrt_proto``: ``bf.TableEntry(...)``."""
rpc = _NAMESPACES["google.rpc"]
"""``rpc.Status``."""

SERVICE = "bfrt_proto.BfRuntime"
UNARY = {
    "Write": (bf.WriteRequest, bf.WriteResponse),
    "SetForwardingPipelineConfig": (
        bf.SetForwardingPipelineConfigRequest,
        bf.SetForwardingPipelineConfigResponse,
    ),
    "GetForwardingPipelineConfig": (
        bf.GetForwardingPipelineConfigRequest,
        bf.GetForwardingPipelineConfigResponse,
    ),
}
"""Methods with one request and one response; besides them, Read streams responses and StreamChannel both."""
