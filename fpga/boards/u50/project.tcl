# Both engines as RTL kernels for Vitis on the Alveo U50 (VU35P) at 250 MHz, 512 bit. Not exercised by any test.
# Run: vivado -mode batch -source project.tcl, then sh link.sh, which needs v++ and the platform of the card; the streams go
# to data movers or to the network kernel that the user links with them (sc= lines in link.cfg).
foreach {kernel parameters} {kvs_lookup {WIDTH 512 FLIGHT 128} reduce {WIDTH 512 DEPTH 512}} {
    create_project $kernel project_$kernel -part xcu50-fsvh2104-2-e -force
    add_files [glob *.sv]
    set_property top $kernel [current_fileset]
    set_property generic [join [lmap {name value} $parameters {string cat $name=$value}]] [current_fileset]
    ipx::package_project -root_dir packaged_$kernel -vendor offramp -library engines -taxonomy /KernelIP -import_files
    set core [ipx::current_core]
    set_property -dict {sdx_kernel true sdx_kernel_type rtl} $core
    # Registers of our own map, without Vitis's start and done: the host writes them as the drivers do.
    ipx::associate_bus_interfaces -busif s_axil -clock clk $core
    ipx::associate_bus_interfaces -busif s_axis -clock clk $core
    ipx::associate_bus_interfaces -busif m_axis -clock clk $core
    if {$kernel eq "kvs_lookup"} {
        ipx::associate_bus_interfaces -busif m_axi_0 -clock clk $core
        ipx::associate_bus_interfaces -busif m_axi_1 -clock clk $core
    }
    ipx::create_xgui_files $core
    ipx::save_core $core
    package_xo -force -xo_path $kernel.xo -kernel_name $kernel -ip_directory packaged_$kernel -ctrl_protocol user_managed
    close_project
}
set link [open link.cfg w]
puts $link "\[connectivity\]\nnk=kvs_lookup:1:kvs_lookup\nnk=reduce:1:reduce"
puts $link "sp=kvs_lookup.m_axi_0:HBM\[0:15\]\nsp=kvs_lookup.m_axi_1:HBM\[16:31\]"
close $link
set script [open link.sh w]
puts $script "v++ -l -t hw --platform xilinx_u50_gen3x16_xdma_5_202210_1 --config link.cfg \\"
puts $script "    --kernel_frequency 250 -o engines.xclbin kvs_lookup.xo reduce.xo"
close $script
