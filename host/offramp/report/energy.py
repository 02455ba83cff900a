# SPDX-License-Identifier: Apache-2.0
"""Energy of the processor packages by RAPL, through Linux's powercap interface (Intel and AMD).

It counts the energy of the whole package, for all processes. Counters wrap at ``max_energy_range_uj``; they have to be
read at least once per wrap, which takes minutes at full load.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError

POWERCAP: Final = Path("/sys/class/powercap")


@dataclass(frozen=True)
class _Zone:
    folder: Path
    range_uj: int

    def read(self) -> int:
        return int((self.folder / "energy_uj").read_text())


class Energy:
    """Energy counters of the packages, from the creation of this object."""

    def __init__(self, root: Path = POWERCAP) -> None:
        """Find the counters below ``root``.

        Raises:
            OfframpError: there are none, or this user may not read them; the message says which.
        """
        self._zones = []
        for folder in sorted(root.glob("intel-rapl:*")):
            if folder.name.count(":") != 1:  # intel-rapl:0:1 is a part of intel-rapl:0
                continue
            try:
                self._zones.append(_Zone(folder, int((folder / "max_energy_range_uj").read_text())))
                self._zones[-1].read()
            except PermissionError:
                raise OfframpError(f"energy is not readable: {folder}/energy_uj is readable by root only") from None
            except (OSError, ValueError) as error:
                raise OfframpError(f"energy is not readable: {folder}: {error}") from None
        if not self._zones:
            raise OfframpError(f"energy is not readable: no {root}/intel-rapl:0, as in most virtual machines")
        self._last = [zone.read() for zone in self._zones]

    def joules(self) -> float:
        """Joules that the packages have consumed since the last call, or since this object was created.

        Raises:
            OfframpError: the counters cannot be read any more.
        """
        try:
            now = [zone.read() for zone in self._zones]
        except (OSError, ValueError) as error:
            raise OfframpError(f"energy is not readable any more: {error}") from None
        rows = zip(self._zones, self._last, now, strict=True)
        total = sum(end - begun if end >= begun else end - begun + zone.range_uj for zone, begun, end in rows)
        self._last = now
        return total / 1e6


def energy_or_reason(root: Path = POWERCAP) -> tuple[Energy | None, str]:
    """The counters, or None and the reason in one line."""
    try:
        return Energy(root), ""
    except OfframpError as error:
        return None, str(error)
