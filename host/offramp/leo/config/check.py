# SPDX-License-Identifier: Apache-2.0
"""Checks that pydantic cannot make: names must exist, and everything must be resolvable."""

from __future__ import annotations

from offramp.leo.config.models import Config, RequestPath, RequestType, links_of
from offramp.leo.config.resolve import resolve
from offramp.leo.devices.software import Software
from offramp.leo.selection.table import RequestDependency


def check(config: Config) -> None:
    """Check everything that can be known before anything starts.

    Raises:
        OfframpError: one line with file and line.
    """
    for i, path in enumerate(config.paths):
        if any(other.id == path.id for other in config.paths[:i]):
            raise config.error("paths", (i, "id"), f"two paths of one name: {path.id}")
        _check_ends(config, i, path)
    for name, request in config.application.requests.items():
        _check_request(config, name, request)
    for name in config.application.mix:
        if name not in config.application.requests:
            raise config.error("application", ("mix", name), f"no such request; expected one of {_names(config)}")
    if config.application.mix and not sum(config.application.mix.values()) > 0:
        raise config.error("application", ("mix",), "expected a share over 0")
    resolve(config, guess=True)


def check_functions(config: Config) -> None:
    """Refuse functions that neither this installation nor code loaded with it provides.

    Raises:
        OfframpError: one line with file and line.
    """
    known = Software().names
    for name, request in config.application.requests.items():
        for trip, functions in enumerate(request.functions):
            for end, named in functions:
                for device, function in named.items():
                    if function not in known:
                        given = ("anywhere" not in functions.model_fields_set and end) or None
                        place = ("requests", name, "functions", *([end] if given else []), device)
                        problem = f"{function}: no such function; expected one of {', '.join(sorted(known))}"
                        listed = (*place[:3], trip, *place[3:])
                        raise config.error("application", listed if len(request.functions) > 1 else place, problem)


def _names(config: Config) -> str:
    return ", ".join(config.application.requests)


def _check_ends(config: Config, index: int, path: RequestPath) -> None:
    """Check that the links of each end connect, and that they end or begin where the type says."""
    ends = [word[0] for word in path.type.value.split("-")]
    for which, links, device in zip(("requester", "responder"), links_of(path), ends, strict=True):
        for k, link in enumerate(links):
            if len(link) != 2 or not set(link) <= set("CAN") or link[0] == link[1]:
                raise config.error("paths", (index, which, k), f"{link}: expected a logical link such as CN, NA or CA")
            if k and links[k - 1][1] != link[0]:
                raise config.error("paths", (index, which, k), f"{link} does not begin where {links[k - 1]} ends")
        near = links[-1] if which == "requester" else links[0][::-1]
        if near[1] != "N":
            raise config.error("paths", (index, which), f"{', '.join(links)}: expected to touch the NIC")
        last = links[-1][0] if which == "requester" else links[-1][1]
        if last != device:
            word = {"C": "the CPU", "A": "an accelerator", "N": "the NIC"}
            raise config.error("paths", (index, which), f"{', '.join(links)}: {path.type} expects {word[device]} there")


def _check_request(config: Config, name: str, request: RequestType) -> None:
    known = {path.id: path for path in config.paths}
    place = ("requests", name)
    for i, flow in enumerate(request.dataflows):
        for k, trip in enumerate(flow):
            if trip not in known:
                choice = ", ".join(known) or "none"
                raise config.error(
                    "application", (*place, "dataflows", i, k), f"{trip}: no such path; expected one of {choice}"
                )
            if trip not in request.size:
                raise config.error("application", (*place, "size"), f"expected the size on path {trip}")
        if flow in request.dataflows[:i]:
            raise config.error("application", (*place, "dataflows", i), f"{', '.join(flow)}: twice the same")
    for path in request.size:
        if path not in known:
            raise config.error("application", (*place, "size", path), "no such path")
    for which in ("data", "messages"):
        said = getattr(request, which)
        if said is not None and said not in config.application.data:
            have = ", ".join(config.application.data) or "none"
            raise config.error("application", (*place, which), f"{said}: no such data; expected one of {have}")
    if request.dependency is not RequestDependency.NONE and request.key is None:
        raise config.error("application", (*place, "dependency"), f"{request.dependency}: expected a key with it")
