// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <net/if.h>

#include <charconv>
#include <cstdlib>

namespace offramp {
namespace {

constexpr const char* packet_socket = "blocksz=65536,framesz=2048,framecnt=8192,qdisc_bypass=1";
constexpr unsigned long shortest_buffer = 2048;

bool starts(const std::string& text, const char* with) {
    return text.rfind(with, 0) == 0;
}

// 18:00.0 or 0000:18:00.0.
bool is_pci(const std::string& text) {
    const auto colon = text.find(':'), dot = text.find('.');
    return colon != std::string::npos && dot != std::string::npos && colon < dot && dot + 2 == text.size() &&
           text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
}

// The value of an argument NAME=VALUE; empty: there is none.
std::string value_of(const std::string& arguments, const std::string& name) {
    const auto at = ("," + arguments).find("," + name + "=");
    if (at == std::string::npos) return "";
    const auto from = at + name.size() + 1;
    return arguments.substr(from, arguments.find(',', from) - from);
}

// Takes "@VLAN" off the end; returns false if the VLAN is out of range.
bool take_vlan(std::string& text, unsigned& vlan, std::string& error) {
    const auto at = text.rfind('@');
    if (at == std::string::npos || text.find_first_not_of("0123456789", at + 1) != std::string::npos) return true;
    const char* end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data() + at + 1, end, vlan);
    if (fault != std::errc{} || stop != end || vlan == 0 || vlan > 4094) {
        error = "port " + text + ": a VLAN has a number from 1 to 4094";
        return false;
    }
    text.resize(at);
    return true;
}

}  // namespace

bool Device::shared(const std::vector<std::string>& ports, std::string& error) {
    for (const auto& port : ports) {
        Device device;
        if (!parse(port, 0, 1, device, error)) return false;
        if (!starts(device.name, "net_af_packet")) {
            error = "port " + port + ": two agents cannot hold it at once; stop the old one and start the new one";
            return false;
        }
    }
    return true;
}

bool Device::parse(const std::string& text, std::size_t number, unsigned queues, Device& device, std::string& error) {
    std::string spec = text;
    device = {};
    if (!take_vlan(spec, device.vlan, error)) return false;
    const std::string count = std::to_string(queues), own = std::to_string(number);
    const auto comma = spec.find(',');
    std::string head = spec.substr(0, comma), rest = comma == std::string::npos ? "" : spec.substr(comma + 1);
    const auto linked = [&](const char* kind) { return starts(head, kind) ? head.substr(std::string(kind).size()) : ""; };
    const bool client = rest == "client" || starts(rest, "client,");
    const auto more = [&] {
        const std::string left = client ? rest.substr(std::min(rest.size(), std::size_t{7})) : rest;
        return left.empty() ? left : "," + left;
    };
    if (spec == "loop") {
        device.bus = Bus::loop;
        return true;
    }
    if (is_pci(head)) {
        device.bus = Bus::pci;
        device.device = head;
        device.arguments = rest;
        const std::string representor = value_of(rest, "representor");
        device.name = representor.empty() ? head : head + "_representor_" + representor;
        return true;
    }
    if (starts(spec, "net_")) {
        device.name = head;
        device.arguments = rest;
    } else if (const std::string path = linked("memif:"); !path.empty()) {
        device.name = "net_memif" + own;
        device.arguments = std::string("role=") + (client ? "client" : "server") + ",socket-abstract=no,socket=" + path + more();
    } else if (const std::string socket = linked("vhost:"); !socket.empty()) {
        device.name = "net_vhost" + own;
        device.arguments = "iface=" + socket + ",queues=" + count + (client ? ",client=1" : "") + more();
    } else if (const std::string user = linked("virtio:"); !user.empty()) {
        device.name = "net_virtio_user" + own;
        device.arguments = "path=" + user + ",queues=" + count + (client ? "" : ",server=1") + more();
    } else if (const std::string xdp = linked("xdp:"); !xdp.empty()) {
        device.name = "net_af_xdp" + own;
        device.arguments = "iface=" + xdp + ",start_queue=0,queue_count=" + count + more();
        device.interface = xdp;
    } else {
        device.name = "net_af_packet" + own;
        device.arguments = "iface=" + spec + "," + packet_socket + ",qpairs=" + count;
        device.interface = spec;
    }
    device.device = device.name;
    const std::string buffer = starts(device.name, "net_memif") ? value_of(device.arguments, "bsize") : "";
    if (!buffer.empty() && std::strtoul(buffer.c_str(), nullptr, 10) < shortest_buffer) {
        // DPDK's driver garbles frames of several buffers when the ring is nearly full.
        error = "port " + text + ": expected a bsize of at least " + std::to_string(shortest_buffer) +
              ", so that frames fit a buffer";
        return false;
    }
    if (device.interface.empty() || ::if_nametoindex(device.interface.c_str()) != 0) return true;
    error = "port " + text + ": no such interface";
    return false;
}

}  // namespace offramp
