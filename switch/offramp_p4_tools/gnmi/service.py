# SPDX-License-Identifier: Apache-2.0
"""The gNMI service without a wire: requests in, responses or RpcError out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from offramp_base.gnmi.schema import SERVICE, SUBSCRIBE, UNARY, VERSION, gnmi
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.ports.panel import FrontPanel
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.wire import WireProtocol
from offramp_p4_tools.gnmi.model import MODELS, ORGANIZATION, DataType
from offramp_p4_tools.gnmi.requests import check_extensions, models_of
from offramp_p4_tools.gnmi.selection import TreeView, pattern
from offramp_p4_tools.gnmi.setting import SetOperations
from offramp_p4_tools.gnmi.subscription import GnmiSubscription
from offramp_p4_tools.gnmi.tree import NotificationContext
from offramp_p4_tools.gnmi.values import ENCODINGS, check_encoding

if TYPE_CHECKING:
    from offramp_p4.records import Digest
    from offramp_p4.runtime.pipeline import Pipeline

WIRE: Final = WireProtocol("gNMI", SERVICE, UNARY, subscribe=SUBSCRIBE)
MOST_PATHS: Final = 1024
"""Paths of one Get."""
_GET: Final = gnmi.GetRequest
_KINDS: Final[Mapping[int, tuple[DataType, ...]]] = {
    _GET.ALL: (),
    _GET.CONFIG: (DataType.CONFIG,),
    _GET.STATE: (DataType.STATE, DataType.OPERATIONAL),
    _GET.OPERATIONAL: (DataType.OPERATIONAL,),
}


class GnmiService:
    """gNMI for the ports of one device; methods may be called from many threads.

    Args:
        panel: the device's ports.
    """

    wire = WIRE

    def __init__(self, device: P4Device, panel: FrontPanel) -> None:
        self._device, self._panel = device, panel
        self._setting = threading.Lock()
        device.observers.append(_LinkObserver(panel))

    def unary(self, method: str, request: Any, metadata: Mapping[str, str] | None = None) -> Any:
        """Call a method of the service by name.

        Raises:
            RpcError: the call failed; it carries the status.
        """
        del metadata
        check_extensions(request)
        methods: dict[str, Callable[[Any], Any]] = {
            "Capabilities": self.capabilities,
            "Get": self.get,
            "Set": self.set,
        }
        return methods[method](request)

    def capabilities(self, request: Any) -> Any:
        """Capabilities (section 3.2)."""
        del request
        models = [
            gnmi.ModelData(name=name, organization=ORGANIZATION, version=version) for name, version in MODELS.items()
        ]
        return gnmi.CapabilityResponse(supported_models=models, supported_encodings=ENCODINGS, gNMI_version=VERSION)

    def get(self, request: Any) -> Any:
        """Get (section 3.3): one notification for each path."""
        check_encoding(request.encoding)
        if request.type not in _KINDS:
            raise RpcError(Code.INVALID_ARGUMENT, f"type {request.type} of data is unknown")
        if not request.path:
            raise RpcError(Code.INVALID_ARGUMENT, "the request has no path")
        if len(request.path) > MOST_PATHS:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"{len(request.path)} paths; expected at most {MOST_PATHS}")
        reply = NotificationContext(self._panel, request.prefix, request.encoding)
        selector = TreeView(self._panel.ports, models_of(request.use_models), _KINDS[request.type])
        response = gnmi.GetResponse()
        for path in request.path:
            wanted = pattern(request.prefix, path)
            selected = selector.select(wanted)
            reply.count(len(selected))
            notification = reply.snapshot(selected)
            if not notification.update:
                raise RpcError(Code.NOT_FOUND, f"path {wanted.text}: there is nothing")
            response.notification.append(notification)
        return response

    def set(self, request: Any) -> Any:
        """Set (section 3.4): all of it, or none."""
        with self._setting:
            setting = SetOperations(self._panel)
            setting.take(request)
            setting.apply()
        if self._panel.ports:
            self._device.set_links({number: port.up for number, port in self._panel.ports.items()})
        prefix = request.prefix if request.HasField("prefix") else None
        return gnmi.SetResponse(prefix=prefix, response=setting.results, timestamp=time.time_ns())

    def subscribe(self, request: Any) -> GnmiSubscription:
        """Begin a Subscribe (section 3.5) by its first message."""
        return GnmiSubscription(self._panel, request)


class _LinkObserver:
    """Notifies the panel of links (:class:`offramp_p4.runtime.device.DeviceObserver`)."""

    def __init__(self, panel: FrontPanel) -> None:
        self._panel = panel

    def digest(self, pipeline: Pipeline, digest: Digest) -> None:
        """Ignore digests, which gNMI does not report."""

    def next_ns(self, pipeline: Pipeline) -> int | None:
        """The observer never has to act at a time."""
        del pipeline
        return None

    def send(self, pipeline: Pipeline, now_ns: int) -> None:
        """Send nothing."""

    def links_changed(self) -> None:
        """A port has come up or gone down."""
        self._panel.links_changed()
