# SPDX-License-Identifier: Apache-2.0
"""A configuration as its files say it."""

from __future__ import annotations

from dataclasses import dataclass

from offramp.leo.config.models import Application, Hardware, Path, Profile
from offramp_base.errors import OfframpError
from offramp_base.settings.source import Place, Source


@dataclass(frozen=True, slots=True)
class Config:
    """One application on one host model, and which file says what.

    Attributes:
        hardware, paths, application, profile: as the files say it.
        sources: by the name of the part.
    """

    hardware: Hardware
    paths: tuple[Path, ...]
    application: Application
    profile: Profile | None
    sources: dict[str, Source]

    def error(self, part: str, place: Place, problem: str) -> OfframpError:
        """One line with file and line; ``place`` within the part."""
        return self.sources[part].error((part, *place), problem)
