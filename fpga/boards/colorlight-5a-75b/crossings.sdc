# SPDX-License-Identifier: Apache-2.0
# Written by tests/support/rtl/crossings.py from the design's netlist: change it there.
# What crosses is a Gray code, of which one bit changes at a time, or a beat that has long been in its place: a cycle of
# the faster clock keeps the bits of a code within one change of it.
create_clock -name clk -period 40.0 [get_ports clk]
create_clock -name rgmii_rxc -period 8.0 [get_ports rgmii_rxc]
set_max_delay 8.0 -from [get_cells {card.mac.received.memory*}] -to [get_clocks clk]
set_max_delay 8.0 -from [get_clocks clk] -to [get_cells {card.mac.received.to_in.first*}]
set_max_delay 8.0 -from [get_clocks rgmii_rxc] -to [get_cells {card.mac.received.to_out.first*}]
set_max_delay 8.0 -from [get_cells {card.mac.sent.memory*}] -to [get_clocks rgmii_rxc]
set_max_delay 8.0 -from [get_clocks rgmii_rxc] -to [get_cells {card.mac.sent.to_in.first*}]
set_max_delay 8.0 -from [get_clocks clk] -to [get_cells {card.mac.sent.to_out.first*}]
set_max_delay 8.0 -from [get_clocks clk] -to [get_cells {card.reset.first*}]
