# SPDX-License-Identifier: Apache-2.0
"""A Set request on the ports (gNMI specification, section 3.4): evaluated first, then applied whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_base.gnmi.schema import gnmi
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.ports.panel import FrontPanel
from offramp_p4_tools.gnmi.model import BY_NAMES, ENABLED, ROOT, DataType, JsonForm
from offramp_p4_tools.gnmi.selection import PathPattern, TreeView, is_known, pattern
from offramp_p4_tools.gnmi.values import given, key_of, members

_RESULT: Final = gnmi.UpdateResult
_DEFAULT: Final = True
"""Default of ``enabled`` (openconfig-interfaces.yang)."""
MOST_CHANGES: Final = 10_000
"""Operations of one request."""


class SetOperations:
    """The operations of one SetRequest.

    Attributes:
        wanted: whether each port is to be enabled.
        results: an UpdateResult for each operation.
    """

    def __init__(self, panel: FrontPanel) -> None:
        self._panel = panel
        self._selector = TreeView(panel.ports)
        self.wanted: dict[int, bool] = {}
        self.results: list[Any] = []

    def take(self, request: Any) -> None:
        """Work out what a request asks for: what it deletes, then replaces, then updates.

        Raises:
            RpcError: it cannot be done; nothing has been.
        """
        if request.union_replace:
            raise RpcError(Code.UNIMPLEMENTED, "union_replace is not supported")
        count = len(request.delete) + len(request.replace) + len(request.update)
        if count > MOST_CHANGES:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"{count} operations; expected at most {MOST_CHANGES}")
        for path in request.delete:
            self._delete(pattern(request.prefix, path))
            self._done(path, _RESULT.DELETE)
        for update in request.replace:
            self._write(pattern(request.prefix, update.path), update.val, replace=True)
            self._done(update.path, _RESULT.REPLACE)
        for update in request.update:
            self._write(pattern(request.prefix, update.path), update.val, replace=False)
            self._done(update.path, _RESULT.UPDATE)

    def apply(self) -> None:
        """Do it.

        Raises:
            RpcError: FAILED_PRECONDITION, a port cannot be disabled; none has changed.
        """
        try:
            self._panel.enable(self.wanted)
        except OfframpError as error:
            raise RpcError(Code.FAILED_PRECONDITION, str(error)) from None

    def _done(self, path: Any, operation: int) -> None:
        self.results.append(_RESULT(path=path, op=operation))

    def _delete(self, path: PathPattern) -> None:
        """Configured leaves return to their defaults; those that do not exist are deleted already."""
        selected = self._selector.select(path)
        if path.exact and path.names in BY_NAMES and BY_NAMES[path.names].kind is not DataType.CONFIG:
            raise _read_only(path.text)
        self.wanted |= {each.port: _DEFAULT for each in selected if each.leaf is ENABLED}

    def _write(self, path: PathPattern, value: Any, *, replace: bool) -> None:
        if path.names[: len(ROOT)] == ROOT and not path.exact:
            raise RpcError(Code.INVALID_ARGUMENT, f"path {path.text}: expected the name of an interface, no wildcard")
        if not path.exact or not is_known(path.names):
            raise RpcError(Code.NOT_FOUND, f"path {path.text}: this switch has /interfaces only")
        content = given(value)
        if replace:
            self.wanted |= {each.port: _DEFAULT for each in self._selector.select(path) if each.leaf is ENABLED}
        self._assign(path.names, path.interface, content, path.text)

    def _assign(self, names: tuple[str, ...], interface: str | None, content: Any, text: str) -> None:
        """Take over what is given for the leaf, the container or the list of these names."""
        if names in BY_NAMES:
            self._assign_leaf(names, self._port(interface, text), content, text)
        elif names == ROOT and interface is None:
            for entry in _entries(content, text):
                self._assign(names, key_of(members(entry, text), text), entry, text)
        else:
            given_members = members(content, text)
            if names == ROOT:
                self._check_key(interface, given_members, text)
            for name, member in given_members.items():
                below = (*names, name)
                if not is_known(below):
                    raise RpcError(Code.INVALID_ARGUMENT, f"path {text}: no {name[:80]!r} is known there")
                self._assign(below, interface, member, f"{text.rstrip('/')}/{name}")

    def _check_key(self, interface: str | None, entry: Any, text: str) -> None:
        """An entry of the list may repeat its name, and must where nothing else would be left of it."""
        self._port(interface, text)
        if not entry:
            raise RpcError(Code.INVALID_ARGUMENT, f"path {text}: an interface without anything")

    def _assign_leaf(self, names: tuple[str, ...], port: int, content: Any, text: str) -> None:
        leaf = BY_NAMES[names]
        if leaf.kind is not DataType.CONFIG:
            raise _read_only(text)
        expected = bool if leaf.form is JsonForm.TRUTH else str if leaf.form is JsonForm.TEXT else int
        if type(content) is not expected:
            raise RpcError(Code.INVALID_ARGUMENT, f"path {text}: expected a value of type {expected.__name__}")
        if leaf is ENABLED:
            self.wanted[port] = bool(content)
        elif content != (now := leaf.value(self._panel, port)):
            raise RpcError(Code.INVALID_ARGUMENT, f"path {text}: it is {now!r}, and cannot be changed")

    def _port(self, interface: str | None, text: str) -> int:
        match = next((port for port in self._panel.ports if str(port) == interface), None)
        if match is None:
            raise RpcError(Code.NOT_FOUND, f"path {text}: no interface {(interface or '')[:80]!r}")
        return match


def _entries(content: Any, text: str) -> Iterable[Any]:
    if not isinstance(content, list):
        raise RpcError(Code.INVALID_ARGUMENT, f"path {text}: expected a list of interfaces")
    return content


def _read_only(text: str) -> RpcError:
    return RpcError(Code.INVALID_ARGUMENT, f"path {text} can only be read")
