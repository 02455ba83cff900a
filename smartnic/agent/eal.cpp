// SPDX-License-Identifier: Apache-2.0
#include "eal.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_ring.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "device.hpp"
#include "fanout.hpp"

namespace offramp {
namespace {

// Debian's package of a virtual device's driver.
std::string package(const std::string& device) {
    std::string kind = device.substr(4, device.find_last_not_of("0123456789") - 3);
    if (kind == "virtio_user") kind = "virtio";
    std::replace(kind.begin(), kind.end(), '_', '-');
    return "librte-net-" + kind + "23";
}

std::string own_cpus() {
    cpu_set_t set;
    std::string list;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return "0";
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) list += (list.empty() ? "" : ",") + std::to_string(cpu);
    return list;
}

// Two ports of net_ring's: what one sends the other receives.
bool open_loop(std::size_t number, unsigned lanes, std::vector<std::unique_ptr<Port>>& ports,
               std::vector<std::unique_ptr<Port>>& ends, std::string& error) {
    constexpr unsigned frames = 1024;
    const int socket = static_cast<int>(rte_socket_id());
    const std::string name = "loop" + std::to_string(number);
    const auto rings = [&](const char* way) {
        std::vector<rte_ring*> rings;
        for (unsigned lane = 0; lane < lanes; ++lane)
            rings.push_back(rte_ring_create((name + way + std::to_string(lane)).c_str(), frames, socket,
                                           RING_F_SP_ENQ | RING_F_SC_DEQ));
        return rings;
    };
    std::vector<rte_ring*> out = rings("-out"), back = rings("-back");
    const auto end = [&](std::vector<rte_ring*>& from, std::vector<rte_ring*>& to, const char* side) -> std::unique_ptr<Port> {
        if (std::count(from.begin(), from.end(), nullptr) + std::count(to.begin(), to.end(), nullptr) > 0) return nullptr;
        const int device = rte_eth_from_rings((name + side).c_str(), from.data(), lanes, to.data(), lanes,
                                              static_cast<unsigned>(socket));
        PortOptions options;
        options.lanes = lanes;
        return device < 0 ? nullptr : Port::open(static_cast<std::uint16_t>(device), Eal::loop, options, error);
    };
    error = "port loop: no memory for its rings";
    auto near = end(back, out, "-near"), far = end(out, back, "-far");
    if (near == nullptr || far == nullptr) return false;
    ports.push_back(std::move(near));
    ends.push_back(std::move(far));
    return true;
}

}  // namespace

std::string Eal::compression(const Options& options) {
    if (options.compression == "none") return "";
    if (options.compression == "zlib" || options.compression == "isal") return "compress_" + options.compression;
    return options.compression;
}

std::unique_ptr<Eal> Eal::start(const Options& options, std::string& error) {
    std::vector<std::string> words{"offramp-nic-agent", "--log-level=lib.eal:error", "--log-level=error", "-m",
                                   std::to_string(options.memory_mb)};
    // Its socket is in a folder that is named after this process; only this user may enter that.
    words.push_back(options.telemetry ? "--file-prefix=offramp-nic-" + std::to_string(::getpid()) : "--no-telemetry");
    const std::string cpus = options.cpus.empty() ? own_cpus() : options.cpus;
    words.push_back("--lcores=(0-" + std::to_string(options.cores) + ")@(" + cpus + ")");
    // Nothing of this process is left in the file system, with either kind of memory.
    if (options.huge)
        words.emplace_back("--in-memory");
    else
        words.insert(words.end(), {"--no-huge", "--no-shconf"});
    bool pci = false;
    for (std::size_t i = 0; i < options.ports.size(); ++i) {
        Device device;
        if (!Device::parse(options.ports[i], i, options.queues, device, error)) return nullptr;
        if (device.bus != Device::Bus::pci) continue;
        words.push_back("--allow=" + device.device + (device.arguments.empty() ? "" : "," + device.arguments));
        pci = true;
    }
    const std::string compress = compression(options);
    if (compress == zlib || compress == isal) {
        words.push_back(std::string("--vdev=") + zlib);
        if (compress == isal) words.push_back(std::string("--vdev=") + isal);
    } else if (!compress.empty()) {
        pci = true;
    }
    if (!pci) words.emplace_back("--no-pci");
    words.insert(words.end(), options.eal.begin(), options.eal.end());
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0) {
        error = std::string("DPDK does not start: ") + rte_strerror(rte_errno);
        if (compress.rfind("compress_", 0) == 0) error += "; is librte-compress-" + compress.substr(9) + "23 installed?";
        return nullptr;
    }
    return std::unique_ptr<Eal>(new Eal);
}

Eal::~Eal() {
    rte_eal_cleanup();
}

bool Eal::open_ports(const Options& options, std::vector<std::unique_ptr<Port>>& ports,
                     std::vector<std::unique_ptr<Port>>& ends, std::string& error) {
    for (std::size_t i = 0; i < options.ports.size(); ++i) {
        const std::string& port = options.ports[i];
        Device device;
        if (!Device::parse(port, i, options.queues, device, error)) return false;
        if (device.bus == Device::Bus::loop) {
            if (!open_loop(i, options.queues, ports, ends, error)) return false;
            continue;
        }
        std::uint16_t number = 0;
        if (device.bus == Device::Bus::vdev) {
            const FanoutGroup group(device.interface);
            if (const int code = rte_eal_hotplug_add("vdev", device.device.c_str(), device.arguments.c_str()); code != 0) {
                // Drivers say -1 for whatever went wrong, which is no error's number.
                error = "port " + port + ": " + (code == -1 ? "its driver does not open it" : rte_strerror(-code)) + "; is " +
                      package(device.name) + " installed?";
                if (!device.interface.empty()) error += " Ports on interfaces need CAP_NET_RAW and CAP_NET_ADMIN, those by AF_XDP CAP_BPF, too.";
                return false;
            }
        }
        if (rte_eth_dev_get_port_by_name(device.name.c_str(), &number) != 0) {
            error = "port " + port + ": DPDK found no driver for it; is its PMD (librte-net-…23) installed?";
            return false;
        }
        auto opened = Port::open(number, port, {options.queues, device.vlan, options.flow_rules, device.interface}, error);
        if (opened == nullptr) return false;
        ports.push_back(std::move(opened));
    }
    return true;
}

}  // namespace offramp
