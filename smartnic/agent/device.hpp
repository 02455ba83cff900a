// SPDX-License-Identifier: Apache-2.0
// A port as it is named on the command line, and the device of DPDK's that it is.
#pragma once

#include <string>
#include <vector>

namespace offramp {

struct Device {
    enum class Bus { pci, vdev, loop };

    Bus bus = Bus::vdev;
    std::string name;       // as DPDK knows the port
    std::string device;     // what is probed: the name, but for representors that of their card
    std::string arguments;  // for the driver
    std::string interface;  // of Linux, that it is on
    unsigned vlan = 0;

    // Whether two agents can hold each of these ports at once; why not.
    static bool shared(const std::vector<std::string>& ports, std::string& why);

    // Of the port given as the `number`th, with so many queues each way; false, and why, where the text is none:
    // INTERFACE, xdp:INTERFACE, memif:PATH[,client], vhost:PATH[,client], virtio:PATH, PCI address[,arguments],
    // net_…[,arguments] or loop; each with @VLAN behind it.
    static bool parse(const std::string& text, std::size_t number, unsigned queues, Device& device, std::string& why);
};

}  // namespace offramp
