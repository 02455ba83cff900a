# SPDX-License-Identifier: Apache-2.0
"""Numbers formatted for people."""

from __future__ import annotations

import math

_PREFIXES = ("", "k", "M", "G", "T", "P")


def si(value: float, unit: str = "") -> str:
    """Three significant digits with a decimal prefix: ``52980480`` bytes are ``53.0 MB``."""
    power = 0
    while abs(value) >= 999.5 and power < len(_PREFIXES) - 1:
        value /= 1000
        power += 1
    suffix = f"{_PREFIXES[power]}{unit}"
    whole = power == 0 and float(value).is_integer()
    digits = 0 if whole else max(0, 2 - _magnitude(value))
    return f"{value:.{digits}f} {suffix}".rstrip()


def duration(seconds: float) -> str:
    """Three significant digits with a suitable unit: ``0.01875`` is ``18.8 ms``."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "\N{MICRO SIGN}s")):
        if abs(seconds) * factor >= 0.9995 or seconds == 0:
            return si(seconds * factor, unit) if abs(seconds * factor) < 999.5 else f"{seconds * factor:.0f} {unit}"
    return si(seconds * 1e9, "ns")


def tick(value: float, unit: str = "") -> str:
    """Like :func:`si`, without trailing zeros: for round numbers on an axis."""
    digits, _, suffix = si(value, unit).partition(" ")
    return f"{float(digits):g} {suffix}".rstrip()


def percent(share: float) -> str:
    """``0.941`` is ``94.1 %``."""
    return f"{100 * share:.1f} %"


def number(value: object) -> str:
    """Integers in groups of three, floats to four significant digits, None as a dash, anything else unchanged."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else f"{value:.4g}"


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About ``count`` round numbers (1, 2 or 5 times a power of ten apart) that cover ``low`` to ``high``."""
    if high - low <= 1e-6 * max(abs(low), abs(high)):
        high = low + (abs(low) or 1.0)
    rough = (high - low) / max(1, count - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _magnitude(value: float) -> int:
    rounded = float(f"{abs(value):.2e}")
    return math.floor(math.log10(rounded)) if rounded else 0
