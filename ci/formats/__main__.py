# SPDX-License-Identifier: Apache-2.0
"""Writes the formats that C++, P4 and SystemVerilog share with Python: ``make formats``."""

from __future__ import annotations

from pathlib import Path

from table import FILES

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    for name, text in FILES.items():
        path, wanted = ROOT / name, text()
        if not path.exists() or path.read_text(encoding="utf-8") != wanted:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted, encoding="utf-8")
            print(name)
