# SPDX-License-Identifier: Apache-2.0
"""A host as a graph: which physical links each logical link crosses (specification section 1.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from offramp.leo.config.models import AttachmentModel, Config, NodeType, PhysicalLink
from offramp_base.errors import OfframpError

LOGICAL: Final = ("CN", "NC", "CA", "AC", "AN", "NA")


@dataclass(frozen=True, slots=True)
class Hop:
    """A physical link in one direction."""

    link: PhysicalLink
    source: str
    target: str

    @property
    def back(self) -> Hop:
        """The same link in the other direction."""
        return Hop(self.link, self.target, self.source)


class HostGraph:
    """The graph of one host.

    Raises:
        OfframpError: the graph is invalid: unknown ends, two links of one name, no or several CPUs or NICs, or a model
            that its links contradict.
    """

    def __init__(self, config: Config) -> None:
        self._config, self.hardware = config, config.hardware
        self.links = {link.id: link for link in self.hardware.links}
        self._check_links()
        self.cpu, self.nic = self._only(NodeType.CPU, "CPU"), self._only(NodeType.RNIC, "RDMA NIC")
        self.accelerators = [name for name, node in self.hardware.nodes.items() if node.kind.accelerates]
        self._check_map()
        for accelerator in self.accelerators:
            self._check_model(accelerator)

    def route(self, logical: str, accelerator: str | None) -> list[Hop] | None:
        """Physical links of a logical link, in order, or None where the host lacks it.

        Raises:
            OfframpError: its entry in the map gives no route, or several routes are equally short.
        """
        if "A" in logical and accelerator is None:
            return None
        source, target = (self._device(letter, accelerator) for letter in logical)
        key = next((k for k in (f"{logical}.{accelerator}", logical) if k in self.hardware.map), None)
        if key is None:
            return self.shortest(source, target)
        return self._along(key, self._flat(key, ()), source, target)

    def shortest(self, source: str, target: str) -> list[Hop] | None:
        """The route with the fewest links between two devices; None if there is none.

        Raises:
            OfframpError: several are equally short.
        """
        ways: list[list[Hop]] = [[]]
        for _ in self.hardware.nodes:
            ways = [
                [*way, hop]
                for way in ways
                for hop in self._hops(way[-1].target if way else source)
                if hop.target != source and all(hop.target != h.target for h in way)
            ]
            arriving = [way for way in ways if way[-1].target == target]
            if len(arriving) > 1:
                alternatives = " and ".join("-".join(h.link.id for h in way) for way in arriving[:2])
                raise self._error(
                    ("links",), f"from {source} to {target} two routes are equally short, {alternatives}: expected map"
                )
            if arriving:
                return arriving[0]
        return None

    def _hops(self, device: str) -> Iterator[Hop]:
        for link in self.hardware.links:
            if device in (link.a, link.b):
                yield Hop(link, device, link.b if device == link.a else link.a)

    def _device(self, letter: str, accelerator: str | None) -> str:
        return {"C": self.cpu, "N": self.nic}.get(letter, accelerator or "")

    def _flat(self, key: str, around: tuple[str, ...]) -> list[str]:
        """Physical links that an entry of the map stands for."""
        if key in around:
            raise self._error(("map", around[0]), f"a cycle: {' > '.join((*around, key))}")
        flat: list[str] = []
        for i, name in enumerate(self.hardware.map[key]):
            if name in self.links:
                flat.append(name)
            elif name in self.hardware.map:
                flat += self._flat(name, (*around, key))
            else:
                raise self._error(("map", key, i), f"{name}: no such link; expected one of {', '.join(self.links)}")
        return flat

    def _along(self, key: str, names: list[str], source: str, target: str) -> list[Hop]:
        at, seen, hops = source, {source}, []
        for name in names:
            link = self.links[name]
            if at not in (link.a, link.b):
                raise self._error(("map", key), f"{name} joins {link.a} and {link.b}, but the path has reached {at}")
            hops.append(Hop(link, at, link.b if at == link.a else link.a))
            at = hops[-1].target
            if at in seen:
                raise self._error(("map", key), f"a cycle: {'-'.join(names)} reaches {at} twice")
            seen.add(at)
        if at != target:
            raise self._error(("map", key), f"{'-'.join(names)} leads from {source} to {at}, expected {target}")
        return hops

    def _check_links(self) -> None:
        for i, link in enumerate(self.hardware.links):
            for end in ("a", "b"):
                if getattr(link, end) not in self.hardware.nodes:
                    choice = ", ".join(self.hardware.nodes)
                    raise self._error(
                        ("links", i, end), f"{getattr(link, end)}: no such node; expected one of {choice}"
                    )
            if link.a == link.b:
                raise self._error(("links", i), f"{link.id}: both ends are {link.a}")
            if any(other.id == link.id for other in self.hardware.links[:i]):
                raise self._error(("links", i, "id"), f"two links of one name: {link.id}")

    def _only(self, kind: NodeType, what: str) -> str:
        names = [name for name, node in self.hardware.nodes.items() if node.kind is kind]
        if len(names) != 1:
            place = ("nodes", names[1]) if len(names) > 1 else ("nodes",)
            raise self._error(place, f"{len(names)} nodes of kind {kind}: expected one {what}")
        return names[0]

    def _check_map(self) -> None:
        for key, names in self.hardware.map.items():
            logical, _, accelerator = key.partition(".")
            if logical not in LOGICAL:
                raise self._error(
                    ("map", key), f"{key}: expected one of {', '.join(LOGICAL)}, or one with .accelerator"
                )
            if accelerator and accelerator not in self.accelerators:
                raise self._error(("map", key), f"{accelerator}: no such accelerator")
            if not names:
                raise self._error(("map", key), "expected at least one link")
            for device in self.accelerators if "A" in logical and not accelerator else [accelerator or None]:
                self.route(logical, device)

    def _check_model(self, accelerator: str) -> None:
        """Check that the links agree with ``model``."""
        inner = {"CN": self.route("CN", accelerator), "CA": self.route("CA", accelerator)}
        passed = {name: [hop.target for hop in way or []][:-1] for name, way in inner.items()}
        on_path, off_path = accelerator in passed["CN"], self.nic in passed["CA"]
        model = self.hardware.model
        agrees = {
            AttachmentModel.DIRECT: not on_path and not off_path,
            AttachmentModel.ON_PATH: on_path,
            AttachmentModel.OFF_PATH: off_path,
        }
        if not agrees.get(model, True):
            real = (
                AttachmentModel.ON_PATH if on_path else AttachmentModel.OFF_PATH if off_path else AttachmentModel.DIRECT
            )
            raise self._error(("model",), f"{model}: by its links, {accelerator} is {real}")

    def _error(self, place: tuple[str | int, ...], problem: str) -> OfframpError:
        return self._config.error("hardware", place, problem)
