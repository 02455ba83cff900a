# SPDX-License-Identifier: Apache-2.0
# The engines as RTL kernels for Vitis on the Alveo U50 (VU35P), one .xo each. Not exercised by any test; make runs it:
# vivado -mode batch -source project.tcl (2022.1 or later). kernels.tcl, beside it, says which kernels there are.
source kernels.tcl
foreach {kernel memories arguments} $kernels {
    create_project $kernel project_$kernel -part xcu50-fsvh2104-2-e -force
    add_files [concat [glob *.sv] [glob *.svh]]
    set_property top $kernel [current_fileset]
    update_compile_order -fileset sources_1
    ipx::package_project -root_dir packaged_$kernel -vendor offramp -library engines -taxonomy /KernelIP -import_files
    set core [ipx::current_core]
    set_property sdx_kernel true $core
    set_property sdx_kernel_type rtl $core
    set_property vitis_drc {ctrl_protocol ap_ctrl_hs} $core
    set_property ipi_drc {ignore_freq_hz true} $core
    ipx::associate_bus_interfaces -clock ap_clk -reset ap_rst_n $core
    foreach bus [concat s_axi_control $memories] {
        ipx::associate_bus_interfaces -busif $bus -clock ap_clk $core
    }
    # XRT's own registers, then an argument each; that of a memory port is how v++ learns of the port.
    set block [ipx::get_address_blocks reg0 -of_objects [ipx::get_memory_maps s_axi_control -of_objects $core]]
    foreach {name offset} {CTRL 0x00 GIER 0x04 IP_IER 0x08 IP_ISR 0x0c} {
        set register [ipx::add_register $name $block]
        set_property address_offset $offset $register
        set_property size 32 $register
    }
    foreach argument $arguments {
        lassign $argument name offset bits bus
        set register [ipx::add_register $name $block]
        set_property address_offset $offset $register
        set_property size $bits $register
        if {$bus ne ""} { set_property value $bus [ipx::add_register_parameter ASSOCIATED_BUSIF $register] }
    }
    ipx::create_xgui_files $core
    ipx::update_checksums $core
    ipx::save_core $core
    package_xo -force -xo_path $kernel.xo -kernel_name $kernel -ip_directory packaged_$kernel -ctrl_protocol ap_ctrl_hs
    close_project
}
