# SPDX-License-Identifier: Apache-2.0
"""A look at a cluster as metrics in Prometheus' text format (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from offramp.cluster.model import Cluster
from offramp.job.watch import Look
from offramp.nic.metrics import escaped

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    """A family of samples, which all have the label ``cluster``."""

    kind: str
    help: str
    labels: tuple[str, ...]


METRICS: Final = {
    "offramp_link_bytes_total": Metric("counter", "Bytes on a host's links.", ("host", "direction")),
    "offramp_link_rate_bps": Metric("gauge", "Bits per second that a host's links take.", ("host",)),
    "offramp_link_queue_bytes": Metric("gauge", "Bytes that wait at a host's first link.", ("host",)),
    "offramp_link_drops_total": Metric("counter", "Packets that a host's first link dropped.", ("host",)),
    "offramp_switch_up": Metric("gauge", "Whether a switch answers.", ("switch",)),
    "offramp_switch_pages": Metric("gauge", "Pages of slots of all-reduce.", ("switch",)),
    "offramp_switch_job_pages": Metric("gauge", "Pages of slots that a job has.", ("switch", "job")),
    "offramp_switch_job_packets_total": Metric(
        "counter",
        "A job's packets by what they came to in all-reduce, since it has its pages.",
        ("switch", "job", "verdict"),
    ),
    "offramp_switch_job_bytes_total": Metric("counter", "Bytes of a job's packets of all-reduce.", ("switch", "job")),
    "offramp_switch_packets_total": Metric(
        "counter", "Packets by what they came to in all-reduce.", ("switch", "verdict")
    ),
    "offramp_switch_queue_packets_total": Metric(
        "counter", "Packets of a port's queue, by what became of them.", ("switch", "queue", "outcome")
    ),
    "offramp_agent_up": Metric("gauge", "Whether a smartNIC's agent answers.", ("agent",)),
    "offramp_agent_clients": Metric("gauge", "Clients of an agent.", ("agent",)),
    "offramp_agent_requests_total": Metric("counter", "Requests that an agent's queues carried out.", ("agent",)),
    "offramp_agent_cut_off_total": Metric("counter", "Clients that an agent has cut off.", ("agent",)),
    "offramp_agent_frames_total": Metric(
        "counter", "Frames of an agent's port: sent, received, or missed for want of room.", ("agent", "port", "what")
    ),
    "offramp_rank_step": Metric("gauge", "Number of the last step of a rank.", ("rank",)),
    "offramp_rank_step_seconds": Metric("gauge", "Seconds of the last step of a rank.", ("rank",)),
    "offramp_path_requests_total": Metric("counter", "Requests of a rank's application by path.", ("rank", "path")),
    "offramp_step_predicted_seconds": Metric("gauge", "Seconds of a step by a way, as the plan has it.", ("way",)),
    "offramp_step_measured_seconds": Metric("gauge", "Seconds of a step by a way on average, as measured.", ("way",)),
}
"""All that there are, in their order."""
Sample = tuple[str, tuple[object, ...], float]


def metrics(cluster: Cluster, now: Look) -> str:
    """One look in Prometheus' text format; families without samples are left out."""
    families: dict[str, list[str]] = {}
    for name, values, number in samples(cluster, now):
        pairs = zip(("cluster", *METRICS[name].labels), (cluster.name, *values), strict=True)
        labels = ",".join(f'{label}="{escaped(str(value))}"' for label, value in pairs)
        families.setdefault(name, []).append(f"{name}{{{labels}}} {number:.17g}")
    lines: list[str] = []
    for name, metric in METRICS.items():
        if name in families:
            lines += [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.kind}", *families[name]]
    return "".join(f"{line}\n" for line in lines)


def samples(cluster: Cluster, now: Look) -> Iterator[Sample]:
    """Name, values of the labels (without ``cluster``) and number of each sample of a look."""
    yield from _links(cluster, now)
    yield from _switches(now)
    yield from _agents(now)
    for rank, steps in now.ranks.items():
        yield "offramp_rank_step", (rank,), steps.step
        yield "offramp_rank_step_seconds", (rank,), steps.seconds
    for rank, paths in now.paths.items():
        for path, requests in paths.items():
            yield "offramp_path_requests_total", (rank, path), requests
    for way, row in now.plan.items():
        if row.predicted_s is not None:
            yield "offramp_step_predicted_seconds", (way,), row.predicted_s
        if row.measured_s is not None:
            yield "offramp_step_measured_seconds", (way,), row.measured_s


def _links(cluster: Cluster, now: Look) -> Iterator[Sample]:
    for name, counts in now.links.items():
        for way, count in zip(("sent", "received"), counts, strict=True):
            yield "offramp_link_bytes_total", (name, way), count
    for host in cluster.hosts:
        if rate := cluster.rate_bps(host.name):
            yield "offramp_link_rate_bps", (host.name,), rate
    for name, (waiting, drops) in now.queues.items():
        yield "offramp_link_queue_bytes", (name,), waiting
        yield "offramp_link_drops_total", (name,), drops


def _switches(now: Look) -> Iterator[Sample]:
    for name, each in now.switches.items():
        yield "offramp_switch_up", (name,), each.answers
        if each.pages:
            yield "offramp_switch_pages", (name,), each.pages
        for job, pages in each.taken.items():
            yield "offramp_switch_job_pages", (name, job), pages
        for job, traffic in each.traffic.items():
            yield "offramp_switch_job_bytes_total", (name, job), traffic.octets
            for verdict, count in traffic.outcomes.items():
                yield "offramp_switch_job_packets_total", (name, job, verdict), count
        for verdict, count in each.verdicts.items():
            yield "offramp_switch_packets_total", (name, verdict), count
        for queue, outcomes in each.queues.items():
            for outcome, count in outcomes.items():
                yield "offramp_switch_queue_packets_total", (name, queue, outcome), count


def _agents(now: Look) -> Iterator[Sample]:
    for name, each in now.agents.items():
        yield "offramp_agent_up", (name,), each.answers
        if not each.answers:
            continue
        yield "offramp_agent_clients", (name,), each.clients
        yield "offramp_agent_requests_total", (name,), each.requests
        yield "offramp_agent_cut_off_total", (name,), each.cut_off
        for port, frames in each.ports.items():
            for what in ("received", "sent", "missed"):
                yield "offramp_agent_frames_total", (name, port, what), getattr(frames, what)
