# SPDX-License-Identifier: Apache-2.0
"""``python -m mutation``: which small changes to the protocol and state core no test notices."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from offramp_base.errors import OfframpError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def mutate(
    selected: Annotated[list[str] | None, typer.Argument(help="Parts of the paths to mutate.")] = None,
    share: Annotated[float, typer.Option(help="Of each module's mutants.", min=0, max=1)] = 1.0,
    most: Annotated[int, typer.Option(help="Mutants of a module.", min=1)] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 0,
    minutes: Annotated[float, typer.Option(help="No mutant begins later.", min=0)] = 1e6,
    progress: Annotated[Path | None, typer.Option(help="Notes verdicts; what is there is not tried again.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Try what has survived once more.")] = False,
    every: Annotated[bool, typer.Option("--every", help="All modules of the product; needs --calls.")] = False,
    calls: Annotated[list[Path] | None, typer.Option(help="What tests call: pytest -p mutation.calls --calls.")] = None,
    per_package: Annotated[int | None, typer.Option(help="With --every: modules of each package.", min=1)] = None,
    longest: Annotated[float, typer.Option(help="Time for a module's tests without a mutant (s).", min=1)] = 600.0,
    unscored: Annotated[bool, typer.Option("--unscored", help="Only packages of which --progress has none.")] = False,
    called: Annotated[bool, typer.Option("--called", help="Changes within functions only: quicker.")] = False,
    count: Annotated[bool, typer.Option(help="Only count mutants.")] = False,
) -> None:
    """Try mutants against the tests that call them; exit 1 if one survives without a reason in survivors.toml."""
    try:
        from mutation import calls as called_by
        from mutation import campaign
    except ImportError as error:
        raise OfframpError(f"mutation testing needs the extra 'mutation': {error}") from None
    if every and not calls and not count:
        raise OfframpError("--every needs --calls, a file that pytest -p mutation.calls --calls has written")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the copy of the tree goes, and the processes in it
    parts = selected or [""]
    chosen = [*campaign.every(parts, per_package, seed)] if every else campaign.modules(parts)
    if unscored:
        chosen = campaign.unscored(chosen, progress)
    if not chosen:
        raise OfframpError(f"{' '.join(parts)}: no such module{'' if every else ' in targets.toml'}")
    if count:
        for module in chosen:
            print(module.path, len(campaign.sample(module, share, most, seed, called=called)))  # noqa: T201
        return

    def on_verdict(verdict: campaign.Verdict, number: int, of: int) -> None:
        print(f"{verdict.module} {number}/{of}: {verdict.outcome}", file=sys.stderr)  # noqa: T201

    def on_skip(module: campaign.Module, log: str) -> None:
        print(f"{module.path}: left out: {' '.join(log.split()[-12:])}", file=sys.stderr)  # noqa: T201

    verdicts = campaign.run(
        chosen,
        share=share,
        most=most,
        seed=seed,
        minutes=minutes,
        progress=progress,
        again=again,
        called=called,
        on_verdict=on_verdict,
        on_skip=on_skip if every else None,
        called_by=[row for path in calls or () for row in called_by.read(path)],
        longest_s=longest,
    )
    survivors = [v for v in verdicts if v.outcome == "survived"]
    for v in survivors:
        print(f"{v.module}:{v.line}: {v.operator}: {v.old} -> {v.new}: {v.reason or 'no test notices'}")  # noqa: T201
    print(campaign.table(verdicts, by_package=every))  # noqa: T201
    raise typer.Exit(any(not v.reason for v in survivors))


if __name__ == "__main__":
    try:
        app(prog_name="python -m mutation")
    except OfframpError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
