# SPDX-License-Identifier: Apache-2.0
"""Compiles a small part of Python to machine code through LLVM: for the P4 engine, simulators and matchings.

>>> from offramp_base.native import native
>>> @native
... def doubled(word: int) -> int:
...     return 2 * word
>>> doubled(21)
42
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_base.native.subset import highest_bit as highest_bit
    from offramp_base.native.subset import native as native
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "highest_bit": "offramp_base.native.subset",
            "native": "offramp_base.native.subset",
        },
    )
