# SPDX-License-Identifier: Apache-2.0
"""Objects of another plan of the same name."""

from __future__ import annotations

from offramp.hermod.deploy.sonic.names import own
from offramp.hermod.deploy.sonic.tables import REFERENCES, Config
from offramp_base.errors import OfframpError


def check(config: Config, tables: Config, name: str) -> None:
    """Check that all objects of the plan ``name`` in ``config`` are those of ``tables``.

    Raises:
        OfframpError: the first that is not.
    """
    for table in dict.fromkeys(REFERENCES.values()):
        for key, fields in config.get(table, {}).items():
            if own(table, name, key) and tables.get(table, {}).get(key) != fields:
                raise OfframpError(
                    f"{table} {key}: there already with other contents; undo it first, replace it, or use another name"
                )
