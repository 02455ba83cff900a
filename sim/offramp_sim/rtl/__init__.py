# SPDX-License-Identifier: Apache-2.0
"""The FPGA engines' RTL in simulation: Icarus Verilog and Verilator, driven by cocotb."""
