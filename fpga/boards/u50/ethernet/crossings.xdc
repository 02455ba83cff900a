# SPDX-License-Identifier: Apache-2.0
# Written by tests/support/rtl/crossings.py from the design's netlist: change it there.
# What crosses is a Gray code, of which one bit changes at a time, or a beat that has long been in its place: a cycle of
# the faster clock keeps the bits of a code within one change of it.
set ap_clk [get_clocks -of_objects [get_ports ap_clk]]
set clk_gt_freerun [get_clocks -of_objects [get_ports clk_gt_freerun]]
set usr_clk [get_clocks -of_objects [get_pins -hierarchical -filter {NAME =~ *cmac/gt_txusrclk2}]]
set_max_delay -datapath_only -from [get_cells -hierarchical -filter {NAME =~ *card/frames/from_line/memory_reg*}] -to $ap_clk 3.0
set_max_delay -datapath_only -from $ap_clk -to [get_cells -hierarchical -filter {NAME =~ *card/frames/from_line/to_in/first_reg*}] 3.0
set_max_delay -datapath_only -from $usr_clk -to [get_cells -hierarchical -filter {NAME =~ *card/frames/from_line/to_out/first_reg*}] 3.0
set_max_delay -datapath_only -from [get_cells -hierarchical -filter {NAME =~ *card/frames/losses/numbers/memory_reg*}] -to $ap_clk 3.0
set_max_delay -datapath_only -from $ap_clk -to [get_cells -hierarchical -filter {NAME =~ *card/frames/losses/numbers/to_in/first_reg*}] 3.0
set_max_delay -datapath_only -from $usr_clk -to [get_cells -hierarchical -filter {NAME =~ *card/frames/losses/numbers/to_out/first_reg*}] 3.0
set_max_delay -datapath_only -from [get_cells -hierarchical -filter {NAME =~ *card/frames/to_line/memory_reg*}] -to $usr_clk 3.0
set_max_delay -datapath_only -from $usr_clk -to [get_cells -hierarchical -filter {NAME =~ *card/frames/to_line/to_in/first_reg*}] 3.0
set_max_delay -datapath_only -from $ap_clk -to [get_cells -hierarchical -filter {NAME =~ *card/frames/to_line/to_out/first_reg*}] 3.0
set_max_delay -datapath_only -from $ap_clk -to [get_cells -hierarchical -filter {NAME =~ *card/reset/first_reg*}] 3.0
set_max_delay -datapath_only -from $usr_clk -to [get_cells -hierarchical -filter {NAME =~ *link/clock_runs/first_reg*}] 3.0
set_max_delay -datapath_only -from $ap_clk -to [get_cells -hierarchical -filter {NAME =~ *to_freerun/first_reg*}] 4.0
