# SPDX-License-Identifier: Apache-2.0
"""Schedules as MSCCL programs: thread blocks on every GPU, whose steps send, receive, add and wait for each other.

>>> from offramp.themis import Collective, Demand, load_network, make_plan
>>> from offramp.themis.msccl import program_of, to_xml
>>> plan = make_plan(load_network("example"), [Demand(Collective.ALL_REDUCE, 1 << 20)], chunks=4)
>>> to_xml(program_of(plan)).splitlines()[0][:44]
'<algo name="themis+scf" proto="Simple" nchan'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.themis.msccl.compiler import program_of as program_of
    from offramp.themis.msccl.document import read_program as read_program
    from offramp.themis.msccl.document import to_xml as to_xml
    from offramp.themis.msccl.program import MscclProgram as MscclProgram
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "MscclProgram": "offramp.themis.msccl.program",
            "program_of": "offramp.themis.msccl.compiler",
            "read_program": "offramp.themis.msccl.document",
            "to_xml": "offramp.themis.msccl.document",
        },
    )
