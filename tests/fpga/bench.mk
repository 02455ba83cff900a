# SPDX-License-Identifier: Apache-2.0
# The benches of the folder whose Makefile includes this, by the one runner (offramp fpga test):
#   make                                 each test on its own simulator; a bench that fails keeps its waveforms
#   make SIM=verilator WAVES=1 K=aborts  cocotb's words: the simulator, waveforms of every bench; tests by name
#   make FULL=1 COVERAGE=hits.json       the slow tests too; functional coverage of the run as JSON
# Logs and waveforms lie in out/benches/FOLDER of the checkout, or where OUT says: a folder for each test.
CHECKOUT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../..)
FOLDER := $(notdir $(CURDIR))
OFFRAMP ?= $(firstword $(wildcard $(CHECKOUT)/.venv/bin/offramp) offramp)
OUT ?= $(CHECKOUT)/out/benches/$(FOLDER)

# cocotb reads these names itself; what they say goes through the command.
unexport SIM WAVES COVERAGE

.PHONY: test clean
test:
	@mkdir -p $(dir $(OUT))
	@$(OFFRAMP) fpga test --folder $(FOLDER) --waves $(if $(filter-out 0,$(WAVES)),always,failed) \
	  $(if $(SIM),--simulator $(SIM)) $(if $(FULL),--full) $(if $(COVERAGE),--coverage $(abspath $(COVERAGE))) \
	  --basetemp=$(OUT) $(if $(K),-k "$(K)") $(ARGUMENTS)

clean:
	@rm -rf $(OUT)
