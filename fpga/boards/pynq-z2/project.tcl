# SPDX-License-Identifier: Apache-2.0
# The overlay `engines` for the PYNQ-Z2: both engines with a DMA engine each, on the Zynq's processor system at 100 MHz.
# Not exercised by any test. Run: vivado -mode batch -source project.tcl (2022.1 or later). DDR and pins of the processor
# stay as the board's boot loader has set them.
create_project engines project -part xc7z020clg400-1 -force
add_files [glob *.sv]
# A block design takes Verilog modules only; the tops are.
set_property FILE_TYPE Verilog [get_files {kvs_lookup.sv reduce.sv}]
update_compile_order -fileset sources_1
create_bd_design engines

set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
apply_bd_automation -rule xilinx.com:bd_rule:processing_system7 -config {make_external "FIXED_IO, DDR"} $ps
set_property -dict {CONFIG.PCW_USE_S_AXI_HP0 1 CONFIG.PCW_USE_S_AXI_HP1 1 CONFIG.PCW_USE_S_AXI_HP2 1
    CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ 100} $ps

create_bd_cell -type module -reference kvs_lookup kvs_lookup
create_bd_cell -type module -reference reduce reduce
set_property -dict {CONFIG.WIDTH 128 CONFIG.FLIGHT 16} [get_bd_cells kvs_lookup]
set_property -dict {CONFIG.WIDTH 128 CONFIG.DEPTH 256} [get_bd_cells reduce]

# Lets a master reach one of the processor's memory ports: the first brings an interconnect into being, others join it.
proc to_memory {master port} {
    set slave [get_bd_intf_pins ps/$port]
    set pin [expr {[llength [get_bd_intf_nets -quiet -of_objects $slave]] ? [get_bd_intf_pins $master] : $slave}]
    join_axi $master ps/$port $pin
}
proc join_axi {master slave pin} {
    apply_bd_automation -rule xilinx.com:bd_rule:axi4 -config [list Clk_master Auto Clk_slave Auto Clk_xbar Auto \
        Master /$master Slave /$slave intc_ip Auto master_apm 0] $pin
}

foreach {engine dma} {kvs_lookup kvs_dma reduce reduce_dma} {
    create_bd_cell -type ip -vlnv xilinx.com:ip:axi_dma $dma
    set_property -dict {CONFIG.c_include_sg 0 CONFIG.c_sg_length_width 23 CONFIG.c_m_axis_mm2s_tdata_width 128
        CONFIG.c_m_axi_mm2s_data_width 128 CONFIG.c_m_axi_s2mm_data_width 128
        CONFIG.c_include_mm2s_dre 1 CONFIG.c_include_s2mm_dre 1} [get_bd_cells $dma]
    connect_bd_intf_net [get_bd_intf_pins $dma/M_AXIS_MM2S] [get_bd_intf_pins $engine/s_axis]
    connect_bd_intf_net [get_bd_intf_pins $engine/m_axis] [get_bd_intf_pins $dma/S_AXIS_S2MM]
    foreach slave [list $engine/s_axil $dma/S_AXI_LITE] {
        join_axi ps/M_AXI_GP0 $slave [get_bd_intf_pins $slave]
    }
    to_memory $dma/M_AXI_MM2S S_AXI_HP0
    to_memory $dma/M_AXI_S2MM S_AXI_HP1
}
to_memory kvs_lookup/m_axi_0 S_AXI_HP2
to_memory kvs_lookup/m_axi_1 S_AXI_HP2

# The engines' reset is high; the automation's is low.
set invert [create_bd_cell -type ip -vlnv xilinx.com:ip:util_vector_logic invert]
set_property -dict {CONFIG.C_OPERATION not CONFIG.C_SIZE 1} $invert
connect_bd_net [get_bd_pins -of [get_bd_cells -filter {VLNV =~ *proc_sys_reset*}] -filter {NAME == peripheral_aresetn}] \
    [get_bd_pins invert/Op1]
connect_bd_net [get_bd_pins invert/Res] [get_bd_pins kvs_lookup/rst] [get_bd_pins reduce/rst]
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
