# SPDX-License-Identifier: Apache-2.0
"""Looks at a cluster as OpenTelemetry's metrics, and steps of its ranks as spans, for a collector over OTLP/HTTP."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from offramp.cluster.model import Cluster
from offramp.job.metrics import METRICS, samples
from offramp.job.steps import COLLECTIVES, PROGRESS, STEP, read_steps
from offramp.job.watch import Look
from offramp_base.extras import needs
from offramp_base.settings.error import SettingsError

_SERVICE: Final = "offramp"
_TIMEOUT_S: Final = 5.0
_NS: Final = 1e9
Row = Mapping[str, Any]


class Telemetry:
    """A connection to a collector, such as ``http://127.0.0.1:4318``.

    A run is one trace: a span for the job, in it one for each step of each rank, and in that one for each part of the
    step and each collective, with the attributes ``job``, ``rank`` and ``step``. Metrics have the names and labels of
    :data:`~offramp.job.metrics.METRICS`.

    Raises:
        SettingsError: the SDK of OpenTelemetry is missing.
    """

    def __init__(self, url: str, cluster: Cluster) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.metrics import Observation
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import InMemoryMetricReader
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import SimpleSpanProcessor
            from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        except ImportError:
            raise SettingsError("otlp", needs("opentelemetry"), url) from None
        self._url, self._cluster, self._trace, self._observation = url, cluster, trace, Observation
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        logging.getLogger("opentelemetry").propagate = False  # what fails is told once, in one line
        resource = Resource.create({"service.name": _SERVICE, "offramp.cluster": cluster.name})
        base = url.rstrip("/")
        self._reader = InMemoryMetricReader()
        self._meters = MeterProvider([self._reader], resource)
        self._ended = InMemorySpanExporter()
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(SimpleSpanProcessor(self._ended))
        self._tracer = tracers.get_tracer(_SERVICE)
        self._to_metrics = OTLPMetricExporter(f"{base}/v1/metrics", timeout=_TIMEOUT_S)
        self._to_traces = OTLPSpanExporter(f"{base}/v1/traces", timeout=_TIMEOUT_S)
        self._samples: dict[str, list[Any]] = {}
        self._sent: dict[tuple[Path, int], int] = {}
        self._watched: set[Path] = set()
        self._jobs: dict[Path, Any] = {}
        self._last_ns: dict[Path, int] = {}
        meter = self._meters.get_meter(_SERVICE)
        for name, metric in METRICS.items():
            create = meter.create_observable_counter if metric.kind == "counter" else meter.create_observable_gauge
            create(name, [self._callback(name)], description=metric.help)

    def send(self, now: Look, folder: Path | None) -> None:
        """Send a look, and the steps that ranks have ended since the last one in the folder of their run.

        Raises:
            SettingsError: no collector takes it.
        """
        self._samples = {name: [] for name in METRICS}
        for name, values, number in samples(self._cluster, now):
            labels = zip(METRICS[name].labels, map(str, values), strict=True)
            self._samples[name].append(
                self._observation(float(number), {"cluster": self._cluster.name, **dict(labels)})
            )
        data = self._reader.get_metrics_data()
        self._expect(data is None or self._to_metrics.export(data).name == "SUCCESS")
        if folder is not None and folder.is_dir():
            self._watched.add(folder)
            self._add_steps(folder)
        self._send_spans()

    def close(self) -> None:
        """End the spans of jobs, and send them.

        Raises:
            SettingsError: no collector takes them.
        """
        for folder in self._watched:
            self._add_steps(folder, ended=True)
        for folder, span in self._jobs.items():
            span.end(self._last_ns[folder])
        self._jobs.clear()
        self._send_spans()
        self._to_metrics.shutdown()
        self._to_traces.shutdown()

    def _callback(self, name: str) -> Any:
        def observe(_: object) -> list[Any]:
            return self._samples.get(name, [])

        return observe

    def _send_spans(self) -> None:
        spans = self._ended.get_finished_spans()
        if spans:
            self._expect(self._to_traces.export(spans).name == "SUCCESS")
            self._ended.clear()

    def _expect(self, arrived: bool) -> None:
        if not arrived:
            raise SettingsError("otlp", "no collector takes OTLP over HTTP there", self._url)

    def _add_steps(self, folder: Path, *, ended: bool = False) -> None:
        """Make spans of new steps; the last one may still be in writing, unless the run has ``ended``."""
        for rank, rows in read_steps(folder).items():
            steps = [row for row in rows if row["what"] == STEP]
            begin, end = self._sent.get((folder, rank), 0), len(steps) if ended else max(0, len(steps) - 1)
            for row in steps[begin:end]:
                self._add_step(folder, rank, row, _inside(row, rows))
            self._sent[folder, rank] = max(begin, end)

    def _add_step(self, folder: Path, rank: int, row: Row, inner: list[Row]) -> None:
        job = str(row.get("job", folder.name))
        if folder not in self._jobs:
            about = {"job": job, "cluster": self._cluster.name}
            self._jobs[folder] = self._tracer.start_span(f"job {job}", start_time=row["begin_ns"], attributes=about)
        self._last_ns[folder] = max(self._last_ns.get(folder, 0), row["end_ns"])
        attributes = {"job": job, "rank": rank, "step": row["step"]}
        step = self._span(f"step {row['step']}", row, self._jobs[folder], attributes)
        for each in inner:
            kind = {"collective": True} if each.get("track") == COLLECTIVES else {}
            self._span(each["what"], each, step, attributes | kind)

    def _span(self, name: str, row: Row, parent: Any, attributes: dict[str, Any]) -> Any:
        context = self._trace.set_span_in_context(parent)
        span = self._tracer.start_span(name, context, start_time=row["begin_ns"], attributes=attributes)
        span.end(row["end_ns"])
        return span


def _inside(step: Row, rows: list[dict[str, Any]]) -> list[Row]:
    """Parts and collectives of a step; a job that was started again has steps of the same number."""
    return [
        row
        for row in rows
        if row["step"] == step["step"]
        and row["what"] not in (STEP, PROGRESS)
        and step["begin_ns"] <= row["begin_ns"] <= step["end_ns"]
    ]
