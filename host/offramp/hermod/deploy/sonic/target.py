# SPDX-License-Identifier: Apache-2.0
"""A plan on a SONiC switch: the one that this runs on, or one whose configuration is in a file."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.sonic import conflicts
from offramp.hermod.deploy.sonic.files import holding
from offramp.hermod.deploy.sonic.fitting import Fitted, NoRoomError, fit
from offramp.hermod.deploy.sonic.names import check_name
from offramp.hermod.deploy.sonic.patch import Operation, diff
from offramp.hermod.deploy.sonic.removal import without
from offramp.hermod.deploy.sonic.tables import PORT_MAP, QUEUE, Config
from offramp.hermod.deploy.sonic.yang import validate
from offramp.hermod.deploy.target import Difference, require_equal
from offramp.hermod.plan_file import SCHEMA, plan_document
from offramp.hermod.queues import QueuePlan
from offramp_base.errors import OfframpError


class ConfigStore(Protocol):
    """A store of a switch's configuration."""

    name: str

    def read(self) -> Config:
        """The switch's configuration as it is."""

    def apply(self, operations: list[Operation], after: Config) -> None:
        """Change it to ``after``, or leave it as it was."""


class SonicTarget:
    """The ports of a switch, with the plan beside what is there.

    Args:
        store: where the configuration is read and written.
        plan: what they shall hold.
        ports: their names; none: all that the configuration has.
        name: name of the maps, the schedulers and the profiles.
        members, limits: as :func:`~offramp.hermod.deploy.sonic.tables.tables_for` takes them.
        take: all queues but lossless ones, whoever has them.
        carried: file of the plan with the DSCPs that packets carry, which is there while they differ from the plan's.

    Raises:
        OfframpError: no such port, no ports, rates for a queue that the plan has not, or a name that is taken.
    """

    def __init__(
        self,
        store: ConfigStore,
        plan: QueuePlan,
        ports: Sequence[str] = (),
        name: str = "HERMOD",
        *,
        members: Collection[str] | None = None,
        limits: LineLimits | None = None,
        take: bool = False,
        carried: Path | None = None,
    ) -> None:
        self.name = store.name
        self._store, self._plan, self._object = store, plan, name
        config = store.read()
        self._ports = list(ports) or sorted(config.get("PORT", {}), key=lambda p: (len(p), p))
        self._members, self._limits, self._take, self._carried = members, limits, take, carried
        if not self._ports:
            raise OfframpError(f"{self.name}: knows no ports; expected interfaces, or a config_db with a table PORT")
        stranger = next((port for port in members or () if port not in self._ports), None)
        if stranger is not None:
            raise OfframpError(f"{self.name}: port {stranger} of the job is not one of {', '.join(self._ports)}")
        check_name(name, config)
        with suppress(NoRoomError):  # which does not matter to what is removed or read back
            self._fit(config)

    @property
    def fitted(self) -> Fitted:
        """The plan as the switch gets it.

        Raises:
            NoRoomError: it does not fit beside what is there.
        """
        return self._fit(self._store.read())

    def _fit(self, config: Config) -> Fitted:
        base = without(config, self._object)
        options: dict[str, Any] = {"members": self._members, "limits": self._limits, "replace": self._take}
        fitted = fit(base, self._plan, self._ports, self._object, **options)
        validate(fitted.tables, fitted.onto(base))
        return fitted

    def rendered(self) -> str:
        """The tables, for ``config load``."""
        return json.dumps(self.fitted.tables, indent=2)

    def deployed(self) -> dict[str, Any]:
        """Our objects and what refers to them."""
        config = self._store.read()
        rest = without(config, self._object)
        return {
            table: {key: fields for key, fields in rows.items() if rest.get(table, {}).get(key) != fields}
            for table, rows in config.items()
            if rest.get(table, {}) != rows
        }

    def differences(self) -> list[Difference]:
        """Differences field by field; the rest of the switch's configuration does not count."""
        config, differences = self._store.read(), []
        there, fitted = self.deployed(), self._fit(config)
        for table, rows in fitted.tables.items():
            for key in [*rows, *(key for key in there.get(table, {}) if key not in rows)]:
                planned = rows.get(key, {})
                held = config.get(table, {}).get(key, {})
                extra = {} if table in (QUEUE, PORT_MAP) and planned else held
                names = [*planned, *(name for name in extra if name not in planned)]
                differences += [
                    Difference(f"{table} {key}: {name}", planned.get(name), held.get(name))
                    for name in names
                    if planned.get(name) != held.get(name)
                ]
        for table in there.keys() - fitted.tables.keys():
            differences += [Difference(f"{table} {key}", None, "is there") for key in there[table]]
        return differences

    def apply(self, *, replace: bool = False) -> bool:
        """Apply the plan as one patch; whether anything changed."""
        config = self._store.read()
        fitted = self._fit(config)
        if not replace:
            conflicts.check(config, fitted.tables, self._object)
        after = fitted.onto(without(config, self._object))
        operations = diff(config, after)
        document = {"schema": SCHEMA, **plan_document(fitted.plan)} if fitted.moved else None
        with holding(self._carried, document):
            if not operations:
                return False
            self._store.apply(operations, after)
            try:
                require_equal(self)
            except OfframpError:
                self._store.apply(diff(after, config), config)
                raise
        return True

    def undo(self) -> bool:
        """The configuration without our objects."""
        config = self._store.read()
        after = without(config, self._object)
        with holding(self._carried, None):
            if after == config:
                return False
            self._store.apply(diff(config, after), after)
        return True
