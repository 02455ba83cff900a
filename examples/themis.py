# SPDX-License-Identifier: Apache-2.0
"""Themis: which way do the chunks of an all-reduce take through the network of a YAML file, and how long does it take?

The baseline sends every chunk through the dimensions in the same order; Themis gives each its own, so that all
dimensions work all the time. No schedule is faster than the bound.

    baseline 1252.8 us
    themis+scf-size 1019.9 us
    themis+fifo 996.5 us
    themis+scf 996.5 us
    balanced 995.6 us
    bound 995.6 us
"""

from pathlib import Path

from offramp.themis import Collective, Demand, Scheduler, best_bound, load_network, make_plan


def main() -> None:
    """100 MB on 128 NPUs."""
    network = load_network(str(Path(__file__).with_name("themis_network.yaml")))
    demand = [Demand(Collective.ALL_REDUCE, 100_000_000)]
    times = {str(scheduler): make_plan(network, demand, scheduler).finish_ps for scheduler in Scheduler}
    times["bound"] = best_bound(network, demand).finish_ps
    for name, ps in sorted(times.items(), key=lambda item: -item[1]):
        print(f"{name} {ps / 1e6:.1f} us")


if __name__ == "__main__":
    main()
