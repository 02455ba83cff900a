# SPDX-License-Identifier: Apache-2.0
"""A LEO application between two hosts: which paths its requests take, by which of LEO's rules."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from offramp.job.floor import StepTraffic
from offramp.job.kind import KINDS, EpochPrediction, JobKind, JobStart, Measure, PlacedJob, Prediction
from offramp.job.settings import JobSettings
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError
from offramp_base.settings.document import read_settings
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field

if TYPE_CHECKING:
    from offramp.leo.applications.application import Application

RESULT: Final = "leo.json"
_CALIBRATION_REQUESTS: Final = 10_000
_RANKS: Final = 2


class SelectionRule(StrEnum):
    """Rules that select a path for each request; the first knows one path only."""

    FIRST = "one-path"
    LOOKAHEAD = "lookahead"
    OUTSTANDING = "outstanding"
    WEIGHTED = "weighted"


@dataclass(frozen=True, kw_only=True)
class LeoJobSettings:
    """The settings of an application in a job's file; the first of two hosts sends requests to the second."""

    names: Annotated[tuple[str, ...], Field("kvs, dfs, ebs, allreduce, or YAML files of an application and a host")]
    device: Annotated[tuple[str, ...], Field("NAME=KIND:OPTIONS of a device")] = ()
    code: Annotated[tuple[str, ...], Field("Files of functions")] = ()
    data_folder: Annotated[tuple[str, ...], Field("Folders of data")] = ()
    workload: Annotated[str, Field("Workload, as for offramp leo connect")] = ""
    window: Annotated[int, Field("Requests kept unfinished; 0: the application's", least=0)] = 0
    requests: Annotated[int, Field("Requests to send", least=1)] = 10_000
    seed: Annotated[int, Field("Seed of the requests that are drawn", least=0)] = 1


@KINDS.register("leo")
class LeoJob(JobKind):
    """``offramp leo connect`` and ``offramp leo serve``; a step is a request."""

    ways = tuple(SelectionRule)
    leading = 1
    calibration_rounds = 1

    def settings(self, job: JobSettings) -> LeoJobSettings:
        """The settings in the job's file.

        Raises:
            OfframpError: names file, line and field.
        """
        assert job.file is not None
        file_settings = read_settings(job.file, (LeoJobSettings,))
        try:
            return LeoJobSettings(**{name: each.value for name, each in file_settings.items()})
        except SettingsError as error:
            place = file_settings[error.field].place if error.field in file_settings else str(job.file)
            raise OfframpError(f"{place}: {error}") from None
        except TypeError:
            raise OfframpError(f"{job.file}: names: expected an application") from None

    def _application(self, settings: LeoJobSettings) -> Application:
        from offramp.leo.applications.named import open_application

        return open_application(
            list(settings.names),
            devices=dict(each.split("=", 1) for each in settings.device),
            transport="tcp",
            workload=settings.workload,
            window=settings.window,
            code=settings.code,
            data_folders=settings.data_folder,
            seed=settings.seed,
        )

    def predict(self, placed: PlacedJob, measure: Measure | None) -> Prediction:
        """Predict by the capacity from LEO's linear program, or by measured requests."""
        if placed.ranks != _RANKS:
            problem = f"{placed.ranks} ranks: a LEO application has {_RANKS}: expected hosts that name two"
            raise OfframpError(f"{placed.job.file}: {problem}")
        settings = self.settings(placed.job)
        application = self._application(settings)

        def model(way: str) -> float:
            from offramp.leo.selection.capacity import capacity

            if way != SelectionRule.FIRST and len(application.paths) < 2:
                raise OfframpError(f"{application.name} has one path only: {application.paths[0]}")
            paths = application.paths[:1] if way == SelectionRule.FIRST else application.paths
            table = application.program(paths, {}).table
            return 1 / max(1e-9, capacity(table).rate_mrps * 1e6)

        return EpochPrediction(self.ways, model).predict(measure)

    def traffic(self, placed: PlacedJob, way: str) -> StepTraffic:  # noqa: ARG002
        """The bytes of a request, at least half of them in one direction; none where it may stay with the requester."""
        application = self._application(self.settings(placed.job))
        return StepTraffic() if application.local is not dict else StepTraffic(pair=application.request_bytes / 2)

    def program(self, placed: PlacedJob, way: str, start: JobStart) -> JobSettings:
        """The program of the ranks: rank 0 asks, rank 1 answers until all requests are done."""
        settings = self.settings(placed.job)
        what = [*settings.names]
        for name in ("device", "code", "data_folder"):
            for value in getattr(settings, name):
                what += [f"--{name.replace('_', '-')}", value]
        server, port = placed.hosts[-1], str(placed.job.port)
        where = "127.0.0.1" if server.reach == "local" else server.where
        offramp = [sys.executable, "-m", "offramp", "leo"]
        ask = [sys.executable, "-m", "offramp.job.until_listening", where, port, *offramp, "connect", *what]
        ask += ["--to", f"{where}:{port}", "--seed", str(settings.seed)]
        ask += ["--requests", str(min(settings.requests, _CALIBRATION_REQUESTS) if start.rounds else settings.requests)]
        ask += ["--window", str(settings.window), "--json", str(start.folder.absolute() / RESULT)]
        ask += ["--workload", settings.workload] if settings.workload else []
        ask += ["--paths", self._application(settings).paths[0]] if way == SelectionRule.FIRST else ["--policy", way]
        serve = [*offramp, "serve", *what, "--listen", f"{where}:{port}"]
        script = f'if [ "$RANK" = 0 ]; then exec {shlex.join(ask)}; else exec {shlex.join(serve)}; fi'
        return replace(placed.job, command=("sh", "-c", script))

    def step_s(self, folder: Path) -> float | None:
        """Seconds per request, while others are under way; None without a result."""
        path = folder / RESULT
        if not path.is_file():
            return None
        progress = parse_json(read_text(path))
        return float(progress["seconds"]) / max(1, int(progress["done"]))
