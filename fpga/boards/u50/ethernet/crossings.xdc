# SPDX-License-Identifier: Apache-2.0
# Between the card's clock and the CMAC's: what crosses is a Gray code, of which one bit changes at a time, or a beat that
# has long been in its place. A cycle of the faster clock keeps the bits of a code within one change of it.
set card [get_clocks -of_objects [get_ports ap_clk]]
set line [get_clocks -of_objects [get_pins -hierarchical -filter {NAME =~ *cmac/gt_txusrclk2}]]
set_max_delay -datapath_only -from $card -to $line 3.0
set_max_delay -datapath_only -from $line -to $card 3.0
set_max_delay -datapath_only -from $card -to [get_clocks -of_objects [get_ports clk_gt_freerun]] 4.0
