// SPDX-License-Identifier: Apache-2.0
#include "eal.hpp"

#include <net/if.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_ring.h>
#include <sched.h>

#include <cstring>

namespace offramp {
namespace {

bool is_pci(const std::string& port) {
    return port.find(':') != std::string::npos && port.find(',') == std::string::npos;
}

bool is_device(const std::string& port) {
    return port.rfind("net_", 0) == 0;
}

// The device that serves a port: for a plain interface a packet socket, which every Linux has.
std::string device(const std::string& port, std::size_t number) {
    if (is_device(port)) return port;
    return "net_af_packet" + std::to_string(number) + ",iface=" + port +
           ",blocksz=65536,framesz=2048,framecnt=8192,qdisc_bypass=1";
}

std::string own_cpus() {
    cpu_set_t set;
    std::string found;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return "0";
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) found += (found.empty() ? "" : ",") + std::to_string(cpu);
    return found;
}

// Two ports of net_ring's: what one sends the other receives.
bool open_loop(std::size_t number, std::vector<std::unique_ptr<Port>>& ports, std::vector<std::unique_ptr<Port>>& ends,
               std::string& why) {
    constexpr unsigned frames = 1024;
    const int socket = static_cast<int>(rte_socket_id());
    const std::string name = "loop" + std::to_string(number);
    rte_ring* out = rte_ring_create((name + "-out").c_str(), frames, socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
    rte_ring* back = rte_ring_create((name + "-back").c_str(), frames, socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
    const auto end = [&](rte_ring* from, rte_ring* to, const char* side) -> std::unique_ptr<Port> {
        if (from == nullptr || to == nullptr) return nullptr;
        const int device = rte_eth_from_rings((name + side).c_str(), &from, 1, &to, 1, static_cast<unsigned>(socket));
        return device < 0 ? nullptr : Port::open(static_cast<std::uint16_t>(device), Eal::loop, why);
    };
    why = "port loop: no memory for its rings";
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

std::unique_ptr<Eal> Eal::start(const Options& options, std::string& why) {
    std::vector<std::string> words{"offramp-nic-agent",
                                   "--no-telemetry",
                                   "--log-level=lib.eal:error",
                                   "--log-level=error",
                                   "-m",
                                   std::to_string(options.memory_mb)};
    const std::string cpus = options.cpus.empty() ? own_cpus() : options.cpus;
    words.push_back("--lcores=(0-" + std::to_string(options.cores) + ")@(" + cpus + ")");
    // Nothing of this process is left in the file system, with either kind of memory.
    if (options.huge)
        words.emplace_back("--in-memory");
    else
        words.insert(words.end(), {"--no-huge", "--no-shconf"});
    bool pci = false;
    for (std::size_t i = 0; i < options.ports.size(); ++i) {
        const std::string& port = options.ports[i];
        if (is_pci(port)) {
            words.push_back("--allow=" + port);
            pci = true;
            continue;
        }
        if (port == loop) continue;
        if (!is_device(port) && ::if_nametoindex(port.c_str()) == 0) {
            why = "port " + port + ": no such interface";
            return nullptr;
        }
        words.push_back("--vdev=" + device(port, i));
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
        why = std::string("DPDK does not start: ") + rte_strerror(rte_errno);
        if (compress.rfind("compress_", 0) == 0) why += "; is librte-compress-" + compress.substr(9) + "23 installed?";
        if (!options.ports.empty()) why += " Ports on interfaces need librte-net-af-packet23 and CAP_NET_RAW.";
        return nullptr;
    }
    return std::unique_ptr<Eal>(new Eal);
}

Eal::~Eal() {
    rte_eal_cleanup();
}

bool Eal::open_ports(const Options& options, std::vector<std::unique_ptr<Port>>& ports,
                     std::vector<std::unique_ptr<Port>>& ends, std::string& why) {
    for (std::size_t i = 0; i < options.ports.size(); ++i) {
        const std::string& port = options.ports[i];
        if (port == loop) {
            if (!open_loop(i, ports, ends, why)) return false;
            continue;
        }
        const std::string name = is_pci(port) ? port : device(port, i).substr(0, device(port, i).find(','));
        std::uint16_t number = 0;
        if (rte_eth_dev_get_port_by_name(name.c_str(), &number) != 0) {
            why = "port " + port + ": DPDK found no driver for it; is its PMD (librte-net-…23) installed?";
            return false;
        }
        auto opened = Port::open(number, port, why);
        if (opened == nullptr) return false;
        ports.push_back(std::move(opened));
    }
    return true;
}

}  // namespace offramp
