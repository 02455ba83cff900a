# SPDX-License-Identifier: Apache-2.0
# Written by tests/support/rtl/crossings.py from the design's netlist: change it there.
# What crosses is a Gray code, of which one bit changes at a time, or a beat that has long been in its place: a cycle of
# the faster clock keeps the bits of a code within one change of it.
create_clock -name demo.clk -period 40.0 [get_ports clk_25mhz]
set_false_path -to [get_cells {demo.line.receiver.settle.first*}]
