# SPDX-License-Identifier: Apache-2.0
"""Metrics and traces that a collector of OpenTelemetry gets, against the look and the steps that they are of.

The collector is a server of the test, which decodes OTLP with the messages of the specification. Blind spot: gRPC, and
collectors that ask for credentials.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from offramp.job.metrics import METRICS, samples
from offramp.job.steps import FOLDER, JOB, step, tell_progress
from offramp.job.telemetry import Telemetry
from offramp_base.errors import OfframpError
from watched import full_look


@contextmanager
def collector() -> Iterator[tuple[str, dict[str, list[bytes]]]]:
    """The URL of a collector, and the messages that it got, by path."""
    messages: dict[str, list[bytes]] = {}

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            messages.setdefault(self.path, []).append(content)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", messages
        finally:
            server.shutdown()
            thread.join()


def values(attributes) -> dict[str, object]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def test_a_collector_gets_every_sample_and_the_steps_as_one_trace(racks, tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="needs the package opentelemetry-sdk")
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setenv(JOB, "mine")
    with collector() as (url, messages):
        telemetry = Telemetry(url, racks)
        for number in range(3):
            for rank in ("0", "1"):
                monkeypatch.setenv("RANK", rank)
                with step(number), step(number, "backward"):
                    pass
                tell_progress(number, loss=1.0)
            telemetry.send(full_look(number), tmp_path)
        telemetry.close()

    last = ExportMetricsServiceRequest.FromString(messages["/v1/metrics"][-1])
    assert values(last.resource_metrics[0].resource.attributes)["service.name"] == "offramp"
    metrics = {each.name: each for each in last.resource_metrics[0].scope_metrics[0].metrics}
    assert set(metrics) == set(METRICS)
    expected: dict[str, list[tuple[dict[str, str], float]]] = {name: [] for name in METRICS}
    for name, labels, number in samples(racks, full_look(2)):
        named = dict(zip(METRICS[name].labels, map(str, labels), strict=True))
        expected[name].append(({"cluster": racks.name} | named, float(number)))
    for name, each in metrics.items():
        assert each.HasField("sum" if METRICS[name].kind == "counter" else "gauge")
        points = each.sum.data_points or each.gauge.data_points
        pairs = [(values(p.attributes), float(getattr(p, p.WhichOneof("value")))) for p in points]
        assert sorted(pairs, key=str) == sorted(expected[name], key=str), name

    spans = [
        span
        for message in messages["/v1/traces"]
        for span in ExportTraceServiceRequest.FromString(message).resource_spans[0].scope_spans[0].spans
    ]
    assert len({span.trace_id for span in spans}) == 1
    by_id = {span.span_id: span for span in spans}
    (job,) = (span for span in spans if not span.parent_span_id)
    assert job.name == "job mine"
    steps = [span for span in spans if span.parent_span_id == job.span_id]
    about = sorted((values(s.attributes)["rank"], values(s.attributes)["step"]) for s in steps)
    assert about == [(rank, number) for rank in (0, 1) for number in range(3)]
    inner = [span for span in spans if span.name == "backward"]
    assert len(inner) == 6
    for span in inner:
        outer = by_id[span.parent_span_id]
        assert values(span.attributes) == values(outer.attributes)
        assert job.start_time_unix_nano <= outer.start_time_unix_nano <= span.start_time_unix_nano
        assert span.end_time_unix_nano <= outer.end_time_unix_nano <= job.end_time_unix_nano


def test_what_is_missing_is_one_line(racks, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(OfframpError, match=r"^otlp http://x: needs the package opentelemetry-sdk: "):
        Telemetry("http://x", racks)


def test_a_collector_that_is_not_there_is_one_line(racks) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="needs the package opentelemetry-sdk")
    with pytest.raises(OfframpError, match=r"^otlp http://127.0.0.1:9: no collector takes OTLP over HTTP there$"):
        Telemetry("http://127.0.0.1:9", racks).send(full_look(), None)


def test_lines_of_a_step_say_job_rank_and_step(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setenv(JOB, "mine")
    monkeypatch.setenv("RANK", "3")
    with step(7):
        pass
    (row,) = map(json.loads, (tmp_path / "steps-3.jsonl").read_text().splitlines())
    assert {"job": "mine", "rank": 3, "step": 7, "what": "step"}.items() <= row.items()
