// SPDX-License-Identifier: Apache-2.0
// A port as named on the command line, and its DPDK device.
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
    std::string interface;  // the Linux interface below it
    unsigned vlan = 0;

    // Whether two agents can hold each of these ports at once; why not.
    static bool shared(const std::vector<std::string>& ports, std::string& error);

    // Parses the `number`th port, with that many queues each way; returns false and the reason if the text is wrong:
    // INTERFACE, xdp:INTERFACE, memif:PATH[,client], vhost:PATH[,client], virtio:PATH, PCI address[,arguments],
    // net_…[,arguments] or loop; each with @VLAN behind it.
    static bool parse(const std::string& text, std::size_t number, unsigned queues, Device& device, std::string& error);
};

}  // namespace offramp
