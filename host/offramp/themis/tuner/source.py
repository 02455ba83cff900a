# SPDX-License-Identifier: Apache-2.0
"""The plug-in's source: a table of choices in front of ``plugin.c``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from offramp.themis.kinds import Collective
from offramp.themis.nccl import NcclAlgorithm, NcclProtocol
from offramp.themis.tuner.choices import MOST_BYTES, TunerChoice

FUNCTIONS: Final = {Collective.ALL_GATHER: 2, Collective.REDUCE_SCATTER: 3, Collective.ALL_REDUCE: 4}
"""``ncclFunc_t`` (NCCL, src/include/nccl_common.h)."""
ALGORITHMS: Final = {
    NcclAlgorithm.TREE: 0,
    NcclAlgorithm.RING: 1,
    NcclAlgorithm.COLLNET_DIRECT: 2,
    NcclAlgorithm.COLLNET_CHAIN: 3,
    NcclAlgorithm.NVLS: 4,
}
"""``NCCL_ALGO_*`` (NCCL, src/include/plugin/nccl_tuner.h)."""
PROTOCOLS: Final = {NcclProtocol.LL: 0, NcclProtocol.LL128: 1, NcclProtocol.SIMPLE: 2}
"""``NCCL_PROTO_*`` (NCCL, src/include/plugin/nccl_tuner.h)."""
_TABLE: Final = "/* the table of choices */"


def tuner_source(choices: Sequence[TunerChoice]) -> str:
    """The plug-in in C, complete in one file: ``cc -shared -fPIC -o libnccl-tuner-themis.so FILE``."""
    rows = "".join(
        f"    {{{c.ranks}, {c.nodes}, {FUNCTIONS[c.collective]}, {c.least}u, {_most(c.most)}, "
        f"{ALGORITHMS[c.algorithm]}, {PROTOCOLS[c.protocol]}, {c.channels}}},"
        f" /* {c.collective}: {c.algorithm}, {c.protocol} */\n"
        for c in choices
    )
    template = files("offramp.themis.tuner").joinpath("plugin.c").read_text("utf-8")
    return template.replace(_TABLE, rows.strip())


def _most(size: int) -> str:
    return "UINT64_MAX" if size >= MOST_BYTES else f"{size}u"
