# SPDX-License-Identifier: Apache-2.0
"""The architectures that programs are written for: which there are, and what a switch can do with each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from offramp_p4.source import Unsupported

if TYPE_CHECKING:
    from offramp_p4 import ir


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture.

    Attributes:
        name: name in P4Info.
        packages: the types of ``main``.
        options: those of :class:`~offramp_p4.switch.Switch` that this architecture takes, unlike some others.
        traced: whether the Python engine writes traces of it.
    """

    name: str
    packages: frozenset[str]
    options: frozenset[str]
    traced: bool = False


V1MODEL: Final = Architecture("v1model", frozenset({"V1Switch"}), frozenset({"drop_port"}), traced=True)
TNA: Final = Architecture(
    "tna", frozenset({"Switch", "MultiParserSwitch"}), frozenset({"cpu_port", "recirculation_ports"}), traced=True
)
PSA: Final = Architecture("psa", frozenset({"PSA_Switch"}), frozenset({"cpu_port"}), traced=True)
PNA: Final = Architecture("pna", frozenset({"PNA_NIC"}), frozenset({"cpu_port", "host_ports"}), traced=True)
ARCHITECTURES: Final = (V1MODEL, TNA, PSA, PNA)


def architecture_of(program: ir.Program) -> Architecture:
    """The architecture of a program.

    Raises:
        Unsupported: it is for another one.
    """
    main = program.main
    for architecture in ARCHITECTURES:
        if main.type_name in architecture.packages:
            return architecture
    known = ", ".join(package for each in ARCHITECTURES for package in sorted(each.packages))
    raise Unsupported(main.pos, f"architecture {main.type_name} ({known} are)")
