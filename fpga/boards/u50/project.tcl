# SPDX-License-Identifier: Apache-2.0
# The engines as RTL kernels for Vitis on the Alveo U50 (VU35P) at 250 MHz, 512 bit. Not exercised by any test.
# Run: vivado -mode batch -source project.tcl (2022.1 or later), then sh link.sh, which needs v++ and the card's platform; the
# streams go to data movers or to the network kernel that the user links with them (sc= lines in link.cfg).
set kernels {
    kvs_lookup_kernel {m_axi_0 m_axi_1}
    reduce_kernel {}
}
foreach {kernel memories} $kernels {
    create_project $kernel project_$kernel -part xcu50-fsvh2104-2-e -force
    add_files [glob *.sv]
    set_property top $kernel [current_fileset]
    update_compile_order -fileset sources_1
    ipx::package_project -root_dir packaged_$kernel -vendor offramp -library engines -taxonomy /KernelIP -import_files
    set core [ipx::current_core]
    set_property sdx_kernel true $core
    set_property sdx_kernel_type rtl $core
    # Registers of our own map, without Vitis's start and done: the host writes them as the drivers do.
    set_property vitis_drc {ctrl_protocol user_managed} $core
    set_property ipi_drc {ignore_freq_hz true} $core
    ipx::associate_bus_interfaces -clock ap_clk -reset ap_rst_n $core
    foreach bus [concat s_axi_control s_axis m_axis $memories] {
        ipx::associate_bus_interfaces -busif $bus -clock ap_clk $core
    }
    # A register for each memory port, which is how v++ learns of it; the first one is BASE, the others are not there.
    set block [ipx::get_address_blocks reg0 -of_objects [ipx::get_memory_maps s_axi_control -of_objects $core]]
    set offset 0x10
    foreach bus $memories {
        set register [ipx::add_register BASE_$bus $block]
        set_property address_offset $offset $register
        set_property size 64 $register
        set_property value $bus [ipx::add_register_parameter ASSOCIATED_BUSIF $register]
        set offset [expr {$offset + 0x40}]
    }
    ipx::create_xgui_files $core
    ipx::update_checksums $core
    ipx::save_core $core
    package_xo -force -xo_path $kernel.xo -kernel_name $kernel -ip_directory packaged_$kernel -ctrl_protocol user_managed
    close_project
}
# Both ports read one table, so both see the same memory.
set link [open link.cfg w]
puts $link "\[connectivity\]\nnk=kvs_lookup_kernel:1:kvs_lookup\nnk=reduce_kernel:1:reduce"
puts $link "sp=kvs_lookup.m_axi_0:HBM\[0:15\]\nsp=kvs_lookup.m_axi_1:HBM\[0:15\]"
close $link
set script [open link.sh w]
puts $script "v++ -l -t hw --platform xilinx_u50_gen3x16_xdma_5_202210_1 --config link.cfg \\"
puts $script "    --kernel_frequency 250 -o engines.xclbin kvs_lookup_kernel.xo reduce_kernel.xo"
close $script
