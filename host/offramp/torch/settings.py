# SPDX-License-Identifier: Apache-2.0
"""What the network is: one file, named by ``OFFRAMP_NETWORK``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Self

from offramp_base.errors import OfframpError
from offramp_base.settings.check import check
from offramp_base.settings.document import read_settings
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BYTES

VARIABLE: Final = "OFFRAMP_NETWORK"


@dataclass(frozen=True)
class NetworkSettings:
    """Which offloads there are, and when a collective goes to one; the same on every rank.

    Attributes:
        offloads: names, or ``group:name`` for groups whose description has the word; the first that takes a collective
            gets it.
        dimensions: of the default group, for Themis.
        link: to this rank's port of the switch; ``{rank}`` and ``{port}`` stand for the rank of the default group and
            for its port.
        ports: of the switch, by rank of the default group.
    """

    offloads: Annotated[
        tuple[str, ...], Field("Offloads in order of preference: NAME, or GROUP:NAME for groups of such a description")
    ] = ()
    least: Annotated[int, Field("A smaller collective goes to gloo", least=0, unit=BYTES)] = 64 << 10
    verify: Annotated[bool, Field("Compare every collective among the ranks before it starts")] = False
    history: Annotated[int, Field("Collectives that a dump holds", least=1, most=1 << 20)] = 256
    dump: Annotated[Path | None, Field("Folder of what a rank dumps when a collective fails")] = None
    micro_batches: Annotated[int | None, Field("Microbatches of a step; none: no priorities", least=1)] = None
    layers: Annotated[int, Field("Layers of the model, for priorities", least=1)] = 1
    interface: Annotated[str | None, Field("Address or network interface of Hermod's connections")] = None
    dimensions: Annotated[str | None, Field("Themis: file or name of the network whose dimensions the ranks fill")] = (
        None
    )
    chunks: Annotated[int, Field("Themis: chunks of a collective", least=1, most=4096)] = 16
    devices: Annotated[tuple[str, ...], Field("LEO: NAME=DEVICE, beside the processor")] = ()
    link: Annotated[str | None, Field("All-reduce: link to the switch; {rank} and {port} are filled in")] = None
    control: Annotated[str | None, Field("All-reduce: address of the switch's P4Runtime server")] = None
    ports: Annotated[tuple[int, ...], Field("All-reduce: the switch's port of each rank", least=0)] = ()
    bits: Annotated[int, Field("Sylvie: bits of a value on the wire, 1, 2, 4 or 8", least=1, most=8)] = 8

    def __post_init__(self) -> None:
        check(self)
        if self.bits not in (1, 2, 4, 8):
            raise SettingsError("bits", "expected 1, 2, 4 or 8", self.bits)
        for each in self.devices:
            if "=" not in each:
                raise SettingsError("devices", "expected NAME=DEVICE", each)

    @classmethod
    def from_environment(cls) -> Self | None:
        """What the file says that :data:`VARIABLE` names; None without it.

        Raises:
            OfframpError: a fault in the file, with line and field.
        """
        name = os.environ.get(VARIABLE, "")
        if not name:
            return None
        given = read_settings(Path(name), (cls,))
        try:
            return cls(**{key: each.value for key, each in given.items()})
        except SettingsError as error:
            place = given[error.field].place if error.field in given else name
            raise OfframpError(f"{place}: {error}") from None
