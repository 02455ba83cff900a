# The overlay `engines` for the PYNQ-Z2: both engines with a DMA engine each, on the Zynq's processor system at 100 MHz.
# Not exercised by any test. Run: vivado -mode batch -source project.tcl
create_project engines project -part xc7z020clg400-1 -force
add_files [glob *.sv]
# A block design takes Verilog modules only; the tops are.
set_property FILE_TYPE Verilog [get_files {kvs_lookup.sv reduce.sv}]
create_bd_design engines

set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
apply_bd_automation -rule xilinx.com:bd_rule:processing_system7 -config {make_external "FIXED_IO, DDR"} $ps
set_property -dict {CONFIG.PCW_USE_S_AXI_HP0 1 CONFIG.PCW_USE_S_AXI_HP1 1 CONFIG.PCW_USE_S_AXI_HP2 1
    CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ 100} $ps

create_bd_cell -type module -reference kvs_lookup kvs_lookup
create_bd_cell -type module -reference reduce reduce
set_property -dict {CONFIG.WIDTH 128 CONFIG.FLIGHT 16} [get_bd_cells kvs_lookup]
set_property -dict {CONFIG.WIDTH 128 CONFIG.DEPTH 256} [get_bd_cells reduce]

foreach {engine dma} {kvs_lookup kvs_dma reduce reduce_dma} {
    create_bd_cell -type ip -vlnv xilinx.com:ip:axi_dma $dma
    set_property -dict {CONFIG.c_include_sg 0 CONFIG.c_sg_length_width 23 CONFIG.c_m_axis_mm2s_tdata_width 128
        CONFIG.c_m_axi_mm2s_data_width 128 CONFIG.c_m_axi_s2mm_data_width 128
        CONFIG.c_include_mm2s_dre 1 CONFIG.c_include_s2mm_dre 1} [get_bd_cells $dma]
    connect_bd_intf_net [get_bd_intf_pins $dma/M_AXIS_MM2S] [get_bd_intf_pins $engine/s_axis]
    connect_bd_intf_net [get_bd_intf_pins $engine/m_axis] [get_bd_intf_pins $dma/S_AXIS_S2MM]
    foreach slave [list $engine/s_axil $dma/S_AXI_LITE] {
        apply_bd_automation -rule xilinx.com:bd_rule:axi4 -config {Master /ps/M_AXI_GP0} [get_bd_intf_pins $slave]
    }
    foreach {port memory} {M_AXI_MM2S S_AXI_HP0 M_AXI_S2MM S_AXI_HP1} {
        apply_bd_automation -rule xilinx.com:bd_rule:axi4 -config "Slave /ps/$memory Master /$dma/$port" \
            [get_bd_intf_pins $dma/$port]
    }
}
foreach port {m_axi_0 m_axi_1} {
    apply_bd_automation -rule xilinx.com:bd_rule:axi4 -config "Slave /ps/S_AXI_HP2 Master /kvs_lookup/$port" \
        [get_bd_intf_pins kvs_lookup/$port]
}

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
if {[get_property SLACK [get_timing_paths]] < 0} { error "engines: misses timing" }
file copy -force project/engines.runs/impl_1/engines_wrapper.bit engines.bit
file copy -force [glob project/engines.gen/sources_1/bd/engines/hw_handoff/engines.hwh] engines.hwh
