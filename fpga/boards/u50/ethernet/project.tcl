# SPDX-License-Identifier: Apache-2.0
# The card behind the U50's QSFP28 cage as an RTL kernel without arguments. Not exercised by any test; make ETHERNET=1 runs
# it in this folder: vivado -mode batch -source project.tcl (2022.1 or later, with AMD's licence for the CMAC, which is free).
create_project ethernet_card project_ethernet -part xcu50-fsvh2104-2-e -force
add_files [concat [glob *.sv] [glob *.svh]]
add_files -fileset constrs_1 crossings.xdc
# Behind the CMAC's own constraints, which make its clocks.
set_property processing_order LATE [get_files crossings.xdc]

# PG203. The MAC and the quad are those beside the cage; the check sequence is the CMAC's affair.
create_ip -name cmac_usplus -vendor xilinx.com -library ip -module_name cmac_usplus_0
set_property -dict [list \
    CONFIG.CMAC_CAUI4_MODE {1} \
    CONFIG.NUM_LANES {4x25} \
    CONFIG.GT_REF_CLK_FREQ {161.1328125} \
    CONFIG.GT_DRP_CLK {100.00} \
    CONFIG.CMAC_CORE_SELECT {CMACE4_X0Y3} \
    CONFIG.GT_GROUP_SELECT {X0Y28~X0Y31} \
    CONFIG.OPERATING_MODE {Duplex} \
    CONFIG.USER_INTERFACE {AXIS} \
    CONFIG.INCLUDE_SHARED_LOGIC {2} \
    CONFIG.INCLUDE_RS_FEC {1} \
    CONFIG.ENABLE_AXI_INTERFACE {0} \
    CONFIG.INCLUDE_STATISTICS_COUNTERS {0} \
    CONFIG.TX_FLOW_CONTROL {0} \
    CONFIG.RX_FLOW_CONTROL {0} \
    CONFIG.TX_FRAME_CRC_CHECKING {Enable FCS Insertion} \
    CONFIG.RX_FRAME_CRC_CHECKING {Enable FCS Stripping} \
    CONFIG.RX_MIN_PACKET_LEN {64} \
    CONFIG.RX_MAX_PACKET_LEN {9600} \
    CONFIG.ENABLE_PIPELINE_REG {1} \
] [get_ips cmac_usplus_0]
generate_target all [get_ips cmac_usplus_0]

set_property top ethernet_card [current_fileset]
update_compile_order -fileset sources_1
ipx::package_project -root_dir packaged_ethernet -vendor offramp -library engines -taxonomy /KernelIP -import_files
set core [ipx::current_core]
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
set_property vitis_drc {ctrl_protocol ap_ctrl_none} $core
set_property ipi_drc {ignore_freq_hz true} $core
ipx::associate_bus_interfaces -clock ap_clk -reset ap_rst_n $core

# The cage's four lanes and its reference clock, which link.cfg joins to the platform's.
proc interface {core name vlnv mode ports} {
    set bus [ipx::add_bus_interface $name $core]
    lassign [split $vlnv :] vendor library kind version
    set_property bus_type_vlnv $vlnv $bus
    set_property abstraction_type_vlnv $vendor:$library:${kind}_rtl:$version $bus
    set_property interface_mode $mode $bus
    foreach {logical physical} $ports {
        set_property physical_name $physical [ipx::add_port_map $logical $bus]
    }
}
interface $core gt_refclk xilinx.com:interface:diff_clock:1.0 slave {CLK_P gt_refclk_p CLK_N gt_refclk_n}
interface $core gt_port xilinx.com:interface:gt:1.0 master {
    GRX_P gt_port_grx_p GRX_N gt_port_grx_n GTX_P gt_port_gtx_p GTX_N gt_port_gtx_n
}
ipx::infer_bus_interface clk_gt_freerun xilinx.com:signal:clock_rtl:1.0 $core

ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::save_core $core
package_xo -force -xo_path ethernet_card.xo -kernel_name ethernet_card -ip_directory packaged_ethernet \
    -ctrl_protocol ap_ctrl_none
close_project
