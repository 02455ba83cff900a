# SPDX-License-Identifier: Apache-2.0
"""gNMI message classes, built at run time from the tables in :mod:`messages`."""

from __future__ import annotations

from offramp_base.gnmi import messages
from offramp_base.p4rt.schema import ANY, ProtoPackage, build

POOL, _NAMESPACES = build(
    [
        ProtoPackage("gnmi_ext", messages.EXTENSIONS, []),
        ProtoPackage("gnmi", messages.GNMI, [ANY, "offramp/gnmi_ext"]),
    ]
)
"""The descriptor pool, for text and JSON formats."""
gnmi = _NAMESPACES["gnmi"]
"""Messages of ``gnmi``: ``gnmi.Path(...)``."""
ext = _NAMESPACES["gnmi_ext"]
"""Messages of ``gnmi_ext``."""
TypedValue = gnmi.TypedValue

VERSION = "0.10.0"
"""Version of the gNMI service, as the Capabilities RPC reports it."""
SERVICE = "gnmi.gNMI"
JSON, PROTO, JSON_IETF = 0, 2, 4
"""Values of ``gnmi.Encoding``."""
UNARY = {
    "Capabilities": (gnmi.CapabilityRequest, gnmi.CapabilityResponse),
    "Get": (gnmi.GetRequest, gnmi.GetResponse),
    "Set": (gnmi.SetRequest, gnmi.SetResponse),
}
"""Methods with one request and one response; besides them, Subscribe streams both."""
SUBSCRIBE = (gnmi.SubscribeRequest, gnmi.SubscribeResponse)
