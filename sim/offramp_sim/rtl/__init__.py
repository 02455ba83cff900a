"""The FPGA engines' RTL in simulation: Icarus Verilog and Verilator, driven by cocotb."""
