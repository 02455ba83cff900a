# SPDX-License-Identifier: Apache-2.0
"""The sections of the page, each from its data to HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from offramp.report.charts import ChartBar, ChartLine, bar_chart, line_chart
from offramp.report.model import Report, ReportCheck, ReportTable, TrainingRun
from offramp.report.palette import NAMED, key
from offramp.report.totals import TOTALS
from offramp.report.units import duration, number, percent, si, tick

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def style_of(name: str) -> str:
    """Style-sheet class of a run: its own, or a neutral one for a run outside the comparison."""
    return next((style for style in NAMED if name.startswith(style)), "switch")


def card(content: str, caption: str = "") -> str:
    """A framed figure."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure class="card">{content}{below}</figure>'


def table(data: ReportTable) -> str:
    """A table; numbers are formatted, text is kept."""
    head = "".join(f"<th>{escape(column)}</th>" for column in data.columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(number(cell))}</td>" for cell in row) + "</tr>" for row in data.rows)
    note = f'<p class="note">{escape(data.note)}</p>' if data.note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def legend(runs: Sequence[TrainingRun]) -> str:
    """Legend of the runs' colours."""
    return key([(style_of(run.name), run.name) for run in runs])


def terms(meanings: Mapping[str, str]) -> str:
    """Explanation of a page's terms; empty if there are none."""
    rows = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in meanings.items())
    return f'<h2>Terms</h2><dl class="card">{rows}</dl>' if rows else ""


def checks(items: Sequence[ReportCheck]) -> str:
    """Claims with a tick or a cross each."""
    rows = "".join(f'<li class="{"pass" if item.holds else "fail"}">{escape(item.claim)}</li>' for item in items)
    return f'<div class="card"><ul class="checks">{rows}</ul></div>'


def tiles(report: Report) -> str:
    """The main numbers of the run that was asked for, compared with p2p's if the report has them."""
    run = report.runs[0]
    result = run.result
    host = next((other for other in report.runs if other.name == "p2p" and other is not run), None)
    shown = [
        ("Test accuracy", percent(result["test_accuracy"]), f"{run.name}, epoch {result['epochs']}"),
        ("Payload", si(_bytes(result, ""), "B"), _against(host, result, "")),
        ("Wire", si(_bytes(result, "wire_"), "B"), _against(host, result, "wire_")),
        ("Passes", si(result["passes"]), f"{si(result['recirculations'])} recirculated"),
        ("Aggregators", number(result["aggregators_peak"]), "most in use at once in the whole run"),
        ("Overflows", number(result["overflows"]), "no aggregator free"),
    ]
    if not run.communicates:
        shown = [*shown[:1], ("Loss", number(result["loss"]), "training vertices")]
    shown.append(("Training", duration(result["seconds"]), "on this machine"))
    cells = "".join(
        f'<div class="tile"><span class="label">{escape(label)}</span><b>{escape(value)}</b>'
        f"<span>{escape(below)}</span></div>"
        for label, value, below in shown
    )
    return f'<div class="tiles">{cells}</div>'


def learning(runs: Sequence[TrainingRun]) -> str:
    """Accuracy and loss of all runs, epoch by epoch."""

    def lines(name: str) -> list[ChartLine]:
        return [
            ChartLine(
                run.name,
                [epoch["epoch"] for epoch in run.result["per_epoch"]],
                [epoch[name] for epoch in run.result["per_epoch"]],
                style_of(run.name),
            )
            for run in runs
        ]

    return curves(lines("test_accuracy"), lines("loss"), "epoch", _coincidence(runs))


def curves(accuracy: Sequence[ChartLine], loss: Sequence[ChartLine], unit: str, note: str = "") -> str:
    """Charts of test accuracy and loss over steps of this name, each as far as it has curves."""

    def chart(lines: Sequence[ChartLine], label: str, form: Callable[[float], str]) -> str:
        return line_chart(lines, x_label=unit, y_label=label, x_form=lambda x: f"{x:.0f}", y_form=form)

    shown = [card(chart(accuracy, "test accuracy", lambda y: f"{100 * y:.3g} %"))] if accuracy else []
    shown += [card(chart(loss, "loss", lambda y: f"{y:.4g}"), note)] if loss else []
    return f'<div class="cards">{"".join(shown)}</div>' if shown else ""


def repeat(command: str, origin: str) -> str:
    """The command that repeats everything, and the origin of the page."""
    below = f'<p class="note">{escape(origin)}</p>' if origin else ""
    return f"<h2>Repeat it</h2><pre>{escape(command)}</pre>{below}"


def traffic(runs: Sequence[TrainingRun]) -> str:
    """Bytes on every worker's link, in both directions; empty if nothing was sent."""
    talking = [run for run in runs if run.communicates]
    if not talking:
        return ""

    links = [link for run in talking for link in run.result["per_worker"]]
    top = max(link[f"wire_bytes_{direction}"] for link in links for direction in _DIRECTIONS)

    def chart(direction: str) -> str:
        workers = range(len(talking[0].result["per_worker"]))
        groups = [
            (
                f"worker {worker}",
                [
                    ChartBar(
                        run.name,
                        link[f"bytes_{direction}"],
                        link[f"wire_bytes_{direction}"],
                        style_of(run.name),
                    )
                    for run in talking
                    for link in [run.result["per_worker"][worker]]
                ],
            )
            for worker in workers
        ]
        return bar_chart(
            groups,
            x_label=f"bytes {direction}",
            y_label="one link, whole run",
            y_form=lambda y: tick(y, "B"),
            top=top,
        )

    note = "Full colour: features. Light: all of the wire, with headers, padding, check sequence, preamble and gap."
    figures = "".join(card(f"<h3>{title}</h3>{chart(d)}", note) for d, title in _DIRECTIONS.items())
    return f'<h2>Bytes on every link</h2>{legend(talking)}<div class="cards">{figures}</div>'


def totals(runs: Sequence[TrainingRun]) -> str:
    """Totals, one column per run."""
    rows = [[name, *(read(run.result) for run in runs)] for name, read in TOTALS.items()]
    return card(table(ReportTable("", ["", *(run.name for run in runs)], rows)))


_DIRECTIONS = {"up": "Worker to network", "down": "Network to worker"}


def _bytes(result: Any, kind: str) -> int:
    return int(result[f"{kind}bytes_up"] + result[f"{kind}bytes_down"])


def _against(host: TrainingRun | None, result: Any, kind: str) -> str:
    if host is None or not _bytes(host.result, kind):
        return "up + down"
    change = _bytes(result, kind) / _bytes(host.result, kind) - 1
    sign = "\N{MINUS SIGN}" if change < 0 else "+"
    return f"{sign}{abs(change):.0%} vs. p2p"


def _coincidence(runs: Sequence[TrainingRun]) -> str:
    if len(runs) < 2:
        return ""
    reference = [epoch["loss"] for epoch in runs[0].result["per_epoch"]]
    worst = max(
        abs(epoch["loss"] / loss - 1)
        for run in runs[1:]
        for epoch, loss in zip(run.result["per_epoch"], reference, strict=False)
    )
    difference = f"{worst:.1e}" if worst else "none"
    return (
        "Where curves coincide their colours alternate. Largest relative difference of a run's loss from "
        f"{runs[0].name}'s: {difference}."
    )
