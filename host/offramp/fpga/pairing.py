# SPDX-License-Identifier: Apache-2.0
"""Number of LUT sites that a netlist takes when two small functions share one, as vendor tools pack them.

A site of UltraScale+ has six inputs and two outputs: it holds one function of six inputs, or two of at most five
between them (AMD UG574). Yosys counts functions. Pairing here is greedy, functions with common inputs first, so the
number is an upper bound on what an optimal pairing takes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final

_LUT: Final = re.compile(r"LUT([1-6])|INV")
SHARED: Final = 5
"""Inputs of two functions that share a site."""


def sites(netlist: Mapping[str, Any], top: str) -> int:
    """LUT sites of ``top`` in a netlist as of yosys's ``write_json``, hierarchy counted as often as it occurs."""
    modules = netlist["modules"]
    own = {name: pack(_functions(module)) for name, module in modules.items()}

    def total(name: str) -> int:
        inner = (cell["type"] for cell in modules[name]["cells"].values())
        return own[name] + sum(total(kind) for kind in inner if kind in modules and modules[kind]["cells"])

    return total(top)


def _functions(module: Mapping[str, Any]) -> list[frozenset[int]]:
    """The inputs of each function, constants left out."""
    functions = []
    for cell in module["cells"].values():
        if _LUT.fullmatch(cell["type"]):
            bits = (bit for port, bits in cell["connections"].items() if port != "O" for bit in bits)
            functions.append(frozenset(bit for bit in bits if isinstance(bit, int)))
    return functions


def pack(functions: Iterable[frozenset[int]]) -> int:
    """Sites for functions of the given inputs."""
    functions = list(functions)
    whole = sum(len(inputs) > SHARED for inputs in functions)
    small = sorted((inputs for inputs in functions if len(inputs) <= SHARED), key=len, reverse=True)
    by_input: dict[int, list[int]] = defaultdict(list)
    for number, inputs in enumerate(small):
        for each in inputs:
            by_input[each].append(number)
    free = [True] * len(small)
    pairs = 0
    # Along the widest-spread inputs first (selects of muxes), neighbours in the list share that input.
    for numbers in sorted(by_input.values(), key=len, reverse=True):
        waiting = [number for number in numbers if free[number]]
        for first, second in pairwise(waiting):
            if free[first] and free[second] and len(small[first] | small[second]) <= SHARED:
                free[first] = free[second] = False
                pairs += 1
    left = sorted(len(small[number]) for number in range(len(small)) if free[number])
    low, high = 0, len(left) - 1
    while low < high:  # what shares nothing fits if the inputs do
        if left[low] + left[high] <= SHARED:
            low += 1
            pairs += 1
        high -= 1
    return whole + len(small) - pairs
