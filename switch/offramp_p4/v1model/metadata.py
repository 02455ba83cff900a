# SPDX-License-Identifier: Apache-2.0
"""The cells that a v1model packet has beside its program's variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4.standard_metadata import standard_metadata

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.layout import CellLayout

# Values of standard_metadata.instance_type (simple_switch.h).
NORMAL: Final = 0
INGRESS_CLONE: Final = 1
EGRESS_CLONE: Final = 2
RECIRCULATED: Final = 4
REPLICATED: Final = 5
RESUBMITTED: Final = 6

UNLIMITED: Final = 1 << 40
"""Bytes left by ``truncate`` as long as it has not been called."""


class V1Metadata:
    """The architecture's places for headers, metadata, and what the externs of a pass ask for.

    Attributes:
        clone: 0, or (session, field list) of the last clone asked for.
        resubmit, recirculate: 0, or (field list,).
        digests: 0, or the list of digests of this pass.
        truncate: bytes to cut the packet to.
        checksum_error: 1 when a checksum did not verify.
        colour: colour of the direct meter of the last entry hit.
        headers, user, standard: first cells of the parsed headers and of both kinds of metadata.
        headers_end, end: the cells after the headers, and after all metadata.
    """

    def __init__(self, layout: CellLayout, parser: ir.ParserInstance) -> None:
        headers, user, self._standard_type = standard_metadata(parser)
        self.clone = layout.reserve()
        self.resubmit = layout.reserve()
        self.recirculate = layout.reserve()
        self.digests = layout.reserve()
        self.truncate = layout.reserve()
        self.checksum_error = layout.reserve()
        self.colour = layout.reserve()
        self.headers = layout.reserve(headers.slots)
        self.headers_end = layout.size
        self.user = layout.reserve(user.slots)
        self.standard = layout.reserve(self._standard_type.slots)
        self.end = layout.size

    def field(self, name: str) -> int:
        """The cell of a field of standard_metadata."""
        return self.standard + self.offset(name)

    def offset(self, name: str) -> int:
        """The cell of a field of standard_metadata, from the first."""
        return self._standard_type.offsets[self._standard_type.index[name]]
