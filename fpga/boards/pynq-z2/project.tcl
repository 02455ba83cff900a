# SPDX-License-Identifier: Apache-2.0
# The overlay `engines` for the PYNQ-Z2: engines with their DMA engines, on the Zynq's processor system at 100 MHz.
# Not exercised by any test. Run: vivado -mode batch -source project.tcl (2022.1 or later). engines.tcl, beside it, says
# which engines there are. DDR and pins of the processor stay as the board's boot loader has set them.
source engines.tcl
create_project engines project -part xc7z020clg400-1 -force
add_files [concat [glob *.sv] [glob *.svh] [glob *.v]]
update_compile_order -fileset sources_1
create_bd_design engines

set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
apply_bd_automation -rule xilinx.com:bd_rule:processing_system7 -config {make_external "FIXED_IO, DDR"} $ps
set_property -dict {CONFIG.PCW_USE_S_AXI_HP0 1 CONFIG.PCW_USE_S_AXI_HP1 1 CONFIG.PCW_USE_S_AXI_HP2 1
    CONFIG.PCW_USE_S_AXI_HP3 1 CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ 100} $ps

# Lets a master reach one of the processor's memory ports: the first brings an interconnect into being, others join it.
proc to_memory {master port} {
    set slave [get_bd_intf_pins ps/$port]
    set pin [expr {[llength [get_bd_intf_nets -quiet -of_objects $slave]] ? [get_bd_intf_pins $master] : $slave}]
    join_axi $master ps/$port $pin
}
# Clocks and resets of both sides come with it.
proc join_axi {master slave pin} {
    apply_bd_automation -rule xilinx.com:bd_rule:axi4 -config [list Clk_master Auto Clk_slave Auto Clk_xbar Auto \
        Master /$master Slave /$slave intc_ip Auto master_apm 0] $pin
}

set port 2
foreach {engine width streams memories} $engines {
    create_bd_cell -type module -reference ${engine}_core $engine
    join_axi ps/M_AXI_GP0 $engine/s_axil [get_bd_intf_pins $engine/s_axil]
    foreach each $streams {
        lassign $each dma to back
        create_bd_cell -type ip -vlnv xilinx.com:ip:axi_dma $dma
        set_property -dict [list CONFIG.c_include_sg 0 CONFIG.c_sg_length_width 23 \
            CONFIG.c_m_axis_mm2s_tdata_width $width CONFIG.c_m_axi_mm2s_data_width $width \
            CONFIG.c_m_axi_s2mm_data_width $width CONFIG.c_include_mm2s_dre 1 CONFIG.c_include_s2mm_dre 1] \
            [get_bd_cells $dma]
        connect_bd_intf_net [get_bd_intf_pins $dma/M_AXIS_MM2S] [get_bd_intf_pins $engine/$to]
        connect_bd_intf_net [get_bd_intf_pins $engine/$back] [get_bd_intf_pins $dma/S_AXIS_S2MM]
        join_axi ps/M_AXI_GP0 $dma/S_AXI_LITE [get_bd_intf_pins $dma/S_AXI_LITE]
        to_memory $dma/M_AXI_MM2S S_AXI_HP0
        to_memory $dma/M_AXI_S2MM S_AXI_HP1
    }
    # Engines with memory ports take turns at the two that are left.
    foreach memory $memories { to_memory $engine/$memory S_AXI_HP$port }
    if {[llength $memories]} { set port [expr {5 - $port}] }
}
assign_bd_address
validate_bd_design
make_wrapper -files [get_files engines.bd] -top -import
set_property top engines_wrapper [current_fileset]
launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} { error "engines: [get_property STATUS [get_runs impl_1]]" }
open_run impl_1
if {[get_property SLACK [get_timing_paths]] < 0} { error "engines: misses timing" }
file copy -force project/engines.runs/impl_1/engines_wrapper.bit engines.bit
file copy -force [glob project/engines.gen/sources_1/bd/engines/hw_handoff/engines.hwh] engines.hwh
