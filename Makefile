# SPDX-License-Identifier: Apache-2.0
# The commands people type. "make demo" and "make test" work on a fresh Debian or Ubuntu machine with Python 3.11.
VENV := .venv
BIN := $(VENV)/bin
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Every command that a test starts would compile all of Offramp anew without these files.
export PYTHONDONTWRITEBYTECODE :=

TESTS := $(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and not bench and not guest and not cluster"

# A quarter of the rest tier is waiting for other processes: half as many workers again as cores.
WAITING = $(shell echo $$(( ($$(nproc) * 3 + 1) / 2 )))

.PHONY: help setup demo test test-fast test-rest test-all test-changed test-slow guest cluster bench fuzz soak judge mutation lint format formats packages lock sbom site man deb clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

setup: $(VENV)/.complete ## make .venv with everything the demo and the tests import

$(VENV)/.complete: pyproject.toml ci/constraints.txt ci/requirements.lock ci/make-venv
	@ci/make-venv $(VENV)
	@touch $@

demo: setup      ## four acts: a GNN in switches, coflows, LEO's paths, a planned job
	$(BIN)/offramp demo

packages:        ## install the system packages that tests need (asks sudo only when something is missing)
	@ci/install-packages

test: packages setup ## lint, types and the fast tier of the tests, beside each other: minutes
	@$(MAKE) --no-print-directory --jobs=2 lint test-fast

test-fast: setup
	$(TESTS) --tier fast

test-rest: packages setup ## the tests that make test leaves out: all seeds, processes, simulated RTL and devices
	$(TESTS) -n $(WAITING) --tier rest --durations=50

test-all: packages setup ## lint, types and all tests but the slow ones
	@$(MAKE) --no-print-directory lint
	$(TESTS) --durations=50

test-changed: setup ## the tests that the change since REVISION (by default HEAD) can reach
	@reached=$$(PYTHONPATH=tests/support $(BIN)/python -m changed $(REVISION)); \
	if [ -z "$$reached" ]; then echo "no test reaches the change"; else $(TESTS) $$reached; fi

test-slow: packages setup ## the tests of ten seconds and more, which are in no tier
	$(BIN)/python -m pytest -m "slow and not bench and not guest and not cluster"

guest: packages setup ## suites on RDMA, poll-mode drivers, prio and netem, in a QEMU guest; docs/how-to/guest.md
	@ci/install-packages ci/guest/packages.txt
	$(BIN)/python -m pytest -m guest tests/guest

cluster: packages setup ## jobs on a real Slurm and Ray, over OpenSSH and by mpirun, in network namespaces
	@ci/install-packages ci/cluster/packages.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c ci/constraints.txt -e '.[ray]'
	$(BIN)/python -m pytest -m cluster tests/cluster

bench: setup     ## measurements; docs/PERFORMANCE.md says how to read them
	$(BIN)/python -m pytest -m bench --benchmark-columns=min,median,ops

fuzz: setup      ## run the fuzzers of all parsers, MINUTES each (10 by default); docs/fuzzing.md
	$(BIN)/python tests/fuzz --minutes $(or $(MINUTES),10)

soak: setup      ## SwitchGNN in 110,000 jobs over loss, duplication, delay and restarts
	@mkdir -p out
	PYTHONPATH=tests/support $(BIN)/python -m switchgnn_soak v1model --runs 100000 --progress out/soak-v1model.json
	PYTHONPATH=tests/support $(BIN)/python -m switchgnn_soak leaves --runs 10000 --progress out/soak-leaves.json

judge: setup     ## compare with p4c, bmv2 and the Tofino back end, as far as they are on PATH; out/judge.md
	PYTHONPATH=tests/support $(BIN)/python -m judge --out out/judge.md

MUTATION := --share 0.1 --progress out/mutation.json
EVERY := --every --calls out/calls.json --called --most 10 --per-package 2 --longest 30 --progress out/mutation-every.json
mutation: setup  ## small changes to the core, then to two modules of each package: which of them no test notices
	@mkdir -p out
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c ci/constraints.txt -e '.[mutation]'
	PYTHONPATH=tests/support $(BIN)/python -m mutation $(MUTATION)
	PYTHONPATH=tests/support $(TESTS) --tier fast -q -p mutation.calls --calls out/calls.json || true # failures count not
	PYTHONPATH=tests/support $(BIN)/python -m mutation $(EVERY)

site: setup      ## build the documentation as a site in out/site; warnings are errors
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c ci/constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

man: setup       ## write manual pages of all commands to out/man
	$(BIN)/python ci/man

deb: setup       ## build a Debian package of the core in out
	@ci/deb out

lint: setup      ## ruff, mypy, codespell
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell base switch host sim cli p4 tests docs examples ci README.md CONTRIBUTING.md CHANGELOG.md Makefile pyproject.toml

format: setup    ## put the code into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

formats: setup   ## write what C++, P4 and SystemVerilog share with Python; the tests name stale files
	PYTHONPATH=base:switch:host $(BIN)/python ci/formats

lock:            ## write ci/requirements.lock anew: versions of ci/constraints.txt with the hashes of their files
	@ci/lock

sbom: setup      ## write the CycloneDX bill of materials of .venv to out/offramp.cdx.json
	@ci/sbom $(VENV)

clean:           ## remove the environment and everything that can be made again
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
