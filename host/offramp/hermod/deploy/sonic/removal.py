# SPDX-License-Identifier: Apache-2.0
"""A configuration as it was before a plan came, from what is there alone."""

from __future__ import annotations

import copy

from offramp.hermod.deploy.sonic.names import own
from offramp.hermod.deploy.sonic.rows import cells, key_of
from offramp.hermod.deploy.sonic.tables import PORT_MAP, QUEUE, REFERENCES, Config, alike, plain

_OBJECTS = tuple(dict.fromkeys(REFERENCES.values()))


def without(config: Config, name: str) -> Config:
    """The configuration without the objects of the plan ``name``: what they replaced is referred to again.

    Rows of queues that were split are joined, unless somebody has changed a part since. No row is left empty.
    """
    after = copy.deepcopy(config)
    for table in _OBJECTS:
        for key in config.get(table, {}):
            if own(table, name, key):
                del after[table][key]
    split: dict[str, None] = {}
    for table in (QUEUE, PORT_MAP):
        for key, fields in list(after.get(table, {}).items()):
            for field, target in REFERENCES.items():
                ours = own(target, name, plain(fields[field])) if isinstance(fields.get(field), str) else None
                if ours is None:
                    continue
                if ours.of:
                    split[ours.of] = None
                if ours.on is None:
                    del fields[field]
                else:
                    fields[field] = alike(fields[field], target, ours.on)
            if not fields and config[table][key]:
                del after[table][key]
    for key in split:
        _join(after.get(QUEUE, {}), key)
    return {table: rows for table, rows in after.items() if rows or not config[table]}


def _join(rows: dict[str, dict[str, str]], key: str) -> None:
    parts = [key_of(cell) for cell in cells(key)]
    if key not in rows and all(part in rows and rows[part] == rows[parts[0]] for part in parts):
        fields = rows[parts[0]]
        for part in parts:
            del rows[part]
        rows[key] = fields
