# SPDX-License-Identifier: Apache-2.0
"""Settings of all commands that run an application: its name, devices, code and data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field

if TYPE_CHECKING:
    from offramp.leo.applications.application import Application


def parse_pair(text: str) -> tuple[str, str]:
    """Parse ``NAME=VALUE``.

    Raises:
        ValueError: something else.
    """
    name, _, value = text.partition("=")
    if not name or not value:
        raise ValueError("expected NAME=VALUE")
    return name, value


Code = Annotated[
    tuple[str, ...],
    Field("File with functions in Python (.py) or a C plug-in (shared library); its code is run; repeatable"),
]
DataFolder = Annotated[
    tuple[str, ...],
    Field("Folder whose files may be used as data, besides the YAML file's own folder; repeatable"),
]


@dataclass(frozen=True, kw_only=True)
class ApplicationSettings:
    """An application, by name or from files."""

    names: Annotated[
        tuple[str, ...],
        Field(
            "kvs, dfs, ebs, allreduce, or YAML files of an application and a host",
            position=True,
            metavar="NAME|FILE…",
        ),
    ]
    device: Annotated[
        Mapping[str, str],
        Field(
            "Device, NAME=KIND:OPTIONS, such as model=model:service_us=50 or nic=nic:SOCKET; the same for leo serve "
            "and leo connect; repeatable",
            item=parse_pair,
        ),
    ] = field(default_factory=dict)
    code: Code = ()
    data_folder: DataFolder = ()

    def open(self, transport: str, **more: Any) -> Application:
        """Open the application; ``more`` goes to :func:`offramp.leo.applications.named.open_application`.

        Raises:
            OfframpError: no such application or transport, or the files are wrong.
        """
        from offramp.leo.applications.named import open_application

        return open_application(
            list(self.names),
            devices=dict(self.device),
            transport=transport,
            code=self.code,
            data_folders=self.data_folder,
            **more,
        )


@dataclass(frozen=True, kw_only=True)
class ApplicationPathSettings(ApplicationSettings):
    """Requests to an application, and the paths that they take."""

    paths: Annotated[str, Field("Paths to use, such as cpu,model; all by default")] = ""
    policy: Annotated[str, Field("Rule that selects paths; see offramp simulate leo")] = "lookahead"
    workload: Annotated[str, Field("For kvs: B or C, for ebs: 4K or 64K")] = ""
    window: Annotated[
        int, Field("Requests that the closed loop keeps in flight; 0: as many as the application says", least=0)
    ] = 0

    def open(self, transport: str, **more: Any) -> Application:
        """Open the application, with its load; see :meth:`ApplicationSettings.open`.

        Data that both ends derive from a seed (the store's values) come from ``seed`` in ``more``, equal at both.
        """
        return super().open(
            transport,
            paths=tuple(filter(None, self.paths.split(","))),
            workload=self.workload,
            window=self.window,
            **more,
        )
