# SPDX-License-Identifier: Apache-2.0
"""Settings of a switch in front of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import hexdigits
from typing import Annotated, Final

from offramp.leo.kvcache.wire import MOST_SLOTS, USUAL_SLOTS
from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field

MAC_BYTES: Final = 6


def parse_mac(text: str) -> bytes:
    """Parse a MAC address such as ``0a:00:00:00:00:01``, with or without colons.

    Raises:
        ValueError: the text has another form.
    """
    digits = text.replace(":", "")
    if len(digits) != 2 * MAC_BYTES or set(digits) - set(hexdigits):
        raise ValueError("expected a MAC address such as 0a:00:00:00:00:01")
    return bytes.fromhex(digits)


def parse_host(text: str) -> tuple[str, int]:
    """Parse ``MAC=PORT``.

    Raises:
        ValueError: the text has another form.
    """
    mac, _, port = text.partition("=")
    parse_mac(mac)
    return mac, int(port)


@dataclass(frozen=True)
class CacheSettings:
    """A P4 switch in front of the store that answers hot keys (``p4/kvcache``)."""

    cache_link: Annotated[
        str,
        Field(
            "Link to a P4 switch that answers hot keys of 8 bytes with values of 64: an interface or TRANSPORT:WHERE; "
            "empty: none",
            group="Hot keys in a switch",
        ),
    ] = ""
    cache_switch: Annotated[str, Field("P4Runtime address of that switch")] = "127.0.0.1:9559"
    cache_port: Annotated[int, Field("Port of that switch that leads here", least=0, most=511)] = 0
    cache_mac: Annotated[str, Field("The store's MAC address")] = "0a:00:00:00:00:01"
    cache_host: Annotated[
        Mapping[str, int],
        Field("MAC=PORT of a client, where the switch does not know it yet; repeatable", item=parse_host),
    ] = field(default_factory=dict)
    cache_keys: Annotated[int, Field("Most keys that the switch holds", least=1, most=MOST_SLOTS)] = USUAL_SLOTS

    def __post_init__(self) -> None:
        check(self)
        try:
            parse_mac(self.cache_mac)
        except ValueError as error:
            raise SettingsError("cache_mac", str(error), self.cache_mac) from None

    @property
    def mac(self) -> bytes:
        """The store's MAC address."""
        return parse_mac(self.cache_mac)

    @property
    def ports(self) -> dict[bytes, int]:
        """The port that leads to each MAC address, including the store's."""
        return {self.mac: self.cache_port} | {parse_mac(mac): port for mac, port in self.cache_host.items()}

    def check_access(self, insecure: bool) -> None:
        """Refuse a link on the machine's own network unless everybody may use the store.

        Raises:
            SettingsError: frames carry no proof of who sent them.
        """
        if self.cache_link and not self.cache_link.startswith("unix:") and not insecure:
            raise SettingsError("cache_link", "frames on a link are not authenticated; {insecure} serves them anyway")
