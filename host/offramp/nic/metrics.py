# SPDX-License-Identifier: Apache-2.0
"""An agent's statistics as metrics in Prometheus' text format (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_AGENT: Final = {
    "clients": ("gauge", "clients", "Clients."),
    "queues": ("gauge", "queues", "Clients' queues."),
    "cores": ("gauge", "cores", "Cores that work."),
    "accepted": ("counter", "accepted_total", "Connections that were accepted."),
    "cut_off": ("counter", "cut_off_total", "Clients that were cut off."),
    "requests": ("counter", "requests_total", "Requests that were carried out."),
}
"""By name in the statistics: kind of the metric, its name behind the prefix, help."""
_PORT: Final = {
    "missed": ("missed_total", "Frames that a port lost for want of room."),
    "unmatched": ("unmatched_total", "Frames that no rule of a port matched: dropped."),
    "corrupt": ("corrupt_total", "Frames with a wrong checksum: dropped."),
    "handed": ("handed_total", "Frames that one core handed to another."),
}
_PREFIX: Final = "offramp_nic_"


def metrics(stats: Mapping[str, Any]) -> str:
    """Statistics of an agent (:meth:`offramp.nic.connection.AgentConnection.stats`) in Prometheus' text format."""
    return "".join(f"{line}\n" for line in _lines(stats))


def _lines(stats: Mapping[str, Any]) -> Iterator[str]:
    for name, (kind, ending, text) in _AGENT.items():
        yield from _family(ending, kind, text)
        yield f"{_PREFIX}{ending} {stats[name]}"
    ports = stats["ports"]
    if not ports:
        return
    for name, (ending, text) in _PORT.items():
        yield from _family(f"port_{ending}", "counter", text)
        for port in ports:
            yield _sample(f"port_{ending}", port[name], port=port["name"])
    yield from _family("queue_frames_total", "counter", "Frames of a port's queue.")
    for port in ports:
        for number, queue in enumerate(port["queues"]):
            for direction in ("received", "sent"):
                labels = {"port": port["name"], "queue": number, "direction": direction}
                yield _sample("queue_frames_total", queue[direction], **labels)
    yield from _family("class_frames_total", "counter", "Frames that left in a port's class, 0 the most urgent.")
    for port in ports:
        for number, count in enumerate(port["classes"]):
            yield _sample("class_frames_total", count, port=port["name"], **{"class": number})
    yield from _family("port_info", "gauge", "1; who steers a port's frames.")
    for port in ports:
        yield _sample("port_info", 1, port=port["name"], steering=port["steering"])


def _family(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {_PREFIX}{name} {text}"
    yield f"# TYPE {_PREFIX}{name} {kind}"


def _sample(name: str, value: int, **labels: object) -> str:
    pairs = ",".join(f'{key}="{escaped(str(label))}"' for key, label in labels.items())
    return f"{_PREFIX}{name}{{{pairs}}} {value}"


def escaped(value: str) -> str:
    """A label's value, escaped for its quotation marks."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
