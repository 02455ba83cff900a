# SPDX-License-Identifier: Apache-2.0
"""Run the fuzzers: ``python tests/fuzz --minutes 10``, or ``make fuzz MINUTES=10``. docs/fuzzing.md says more."""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("base", "switch", "host", "sim", "cli", "tests/support")]

from fuzzing.campaign import Campaign, campaigns  # noqa: E402


def main() -> int:
    """Exit code 1 where something was found, 130 where the run was interrupted."""
    args = _arguments()
    if args.case is not None:
        return _repeat(args)
    held: dict[str, Any] = json.loads(args.state.read_text("utf-8")) if args.state and args.state.exists() else {}
    seed = args.seed if args.seed is not None else held.get("seed", secrets.randbits(32))
    chosen = campaigns(seed, args.only)
    for campaign in chosen:
        if campaign.name in held.get("targets", {}):
            campaign.restore(held["targets"][campaign.name])
    say(f"seed {seed}: {len(chosen)} targets, {args.minutes:g} min each, {args.jobs} at a time")
    interrupted = False
    save = partial(_save, args.state, held, seed, chosen, threading.Lock())
    with ThreadPoolExecutor(args.jobs) as pool:
        futures = [pool.submit(_run, campaign, args.minutes * 60, save) for campaign in chosen]
        try:
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            interrupted = True
            for campaign in chosen:
                campaign.stop.set()
    save()
    if args.json:
        report = {campaign.name: campaign.state() for campaign in chosen}
        args.json.write_text(json.dumps({"seed": seed, "targets": report}, indent=1), "utf-8")
    count = sum(len(campaign.findings) for campaign in chosen)
    say(f"seed {seed}: {sum(campaign.cases for campaign in chosen)} cases, {count} findings")
    return 130 if interrupted else int(count > 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description="Run the fuzzers of all parsers.")
    parser.add_argument("--minutes", type=float, default=1.0, help="time for each target")
    parser.add_argument("--only", action="append", metavar="NAME", help="this target; may be repeated")
    parser.add_argument("--seed", type=int, help="of the campaign; drawn and printed by default")
    parser.add_argument("--case", type=int, help="one case of the target of --only, in this process")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("--state", type=Path, metavar="FILE", help="resume from this file, and write it at the end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write counts and findings")
    args = parser.parse_args()
    if args.case is not None and (args.seed is None or len(args.only or ()) != 1):
        parser.error("--case needs one --only and --seed")
    return args


def _save(path: Path | None, held: dict[str, Any], seed: int, chosen: list[Campaign], lock: threading.Lock) -> None:
    if path is None:
        return
    with lock:
        targets = held.get("targets", {}) | {campaign.name: campaign.state() for campaign in chosen}
        partial_file = path.with_name(f".{path.name}.partial")
        partial_file.write_text(json.dumps({"seed": seed, "targets": targets}, indent=1), "utf-8")
        partial_file.replace(path)


def _run(campaign: Campaign, seconds: float, save: Callable[[], None]) -> None:
    done = threading.Event()
    watcher = threading.Thread(target=_report_progress, args=(campaign, done, save), daemon=True)
    watcher.start()
    known, before, spent = len(campaign.findings), campaign.cases, campaign.spent_s
    campaign.run(seconds)
    done.set()
    watcher.join()
    save()
    rate = (campaign.cases - before) / max(campaign.spent_s - spent, 1e-9)
    say(f"{campaign.name}: {campaign.cases} cases, {rate:.0f} per second, {len(campaign.findings)} findings")
    for finding in campaign.findings[known:]:
        indented = "\n".join(f"    {line}" for line in finding.text.splitlines())
        say(f"  {finding.kind} at {finding.where}, {finding.count} times\n  {finding.repeat}\n{indented}")


def _report_progress(campaign: Campaign, done: threading.Event, save: Callable[[], None]) -> None:
    began = time.monotonic()
    while not done.wait(30):
        save()  # what is killed resumes from here
        passed = time.monotonic() - began
        say(f"  {campaign.name}: {passed:.0f} s, {campaign.cases} cases, {len(campaign.findings)} findings")


def _repeat(args: argparse.Namespace) -> int:
    """One case in this process, for a debugger: its exception goes up to the interpreter."""
    from fuzzing.target import case_rng, discover, load
    from offramp_base.errors import OfframpError

    (name,) = args.only
    target = load(discover()[name])
    with TemporaryDirectory() as folder, contextlib.chdir(folder):  # cases leave files
        target.prepare()
        try:
            target.run(case_rng(target.name, args.seed, args.case))
        except (OfframpError, *target.allowed) as error:
            say(f"refused: {error}")
    return 0


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
