// SPDX-License-Identifier: Apache-2.0
#include "port.hpp"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace offramp {
namespace {

constexpr std::uint16_t descriptors = 1024;
constexpr unsigned most_injected = 4096;

// Debian's package of a virtual device's driver.
std::string package(const std::string& device) {
    std::string kind = device.substr(4, device.find_last_not_of("0123456789") - 3);
    std::replace(kind.begin(), kind.end(), '_', '-');
    return "librte-net-" + kind + "23";
}

}  // namespace

std::unique_ptr<Port> Port::open(const char* name, const char* arguments, unsigned workers, rte_mempool* buffers,
                                 std::string& error) {
    std::unique_ptr<Port> port(new Port);
    const bool is_virtual = std::strncmp(name, "net_", 4) == 0;
    if (is_virtual) {
        if (const int code = rte_eal_hotplug_add("vdev", name, arguments); code != 0) {
            error = code == -EEXIST ? "there is such a device already"
                                  : std::string(rte_strerror(-code)) + "; are its arguments right, and is " + package(name) +
                                        " installed?";
            return nullptr;
        }
        port->ours_ = true;
    }
    if (rte_eth_dev_get_port_by_name(name, &port->device_) != 0) {
        error = "DPDK has no such device";
        if (is_virtual) rte_eal_hotplug_remove("vdev", name);
        return nullptr;
    }
    return port->start(workers, buffers, error) ? std::move(port) : nullptr;
}

bool Port::start(unsigned workers, rte_mempool* buffers, std::string& error) {
    const int socket = static_cast<int>(rte_socket_id());
    rte_eth_dev_info info{};
    rte_eth_conf config{};
    if (rte_eth_dev_info_get(device_, &info) != 0) {
        error = "the driver says nothing about it";
        return false;
    }
    queues_ = std::clamp<unsigned>(workers, 1, std::max<unsigned>(1, info.max_tx_queues));
    shared_ = queues_ < workers;
    if (rte_eth_dev_configure(device_, 1, static_cast<std::uint16_t>(queues_), &config) != 0) {
        queues_ = 1;
        shared_ = workers > 1;
        if (rte_eth_dev_configure(device_, 1, 1, &config) != 0) {
            error = "the driver refuses one queue each way";
            return false;
        }
    }
    injected_ = rte_ring_create(("injected-" + std::to_string(device_)).c_str(), most_injected, socket, RING_F_SC_DEQ);
    if (injected_ == nullptr) {
        error = "no memory for its frames";
        return false;
    }
    std::uint16_t receiving = descriptors, sending = descriptors;
    rte_eth_dev_adjust_nb_rx_tx_desc(device_, &receiving, &sending);
    bool good = rte_eth_rx_queue_setup(device_, 0, receiving, static_cast<unsigned>(socket), nullptr, buffers) == 0;
    for (unsigned queue = 0; queue < queues_; ++queue)
        good = good && rte_eth_tx_queue_setup(device_, static_cast<std::uint16_t>(queue), sending,
                                              static_cast<unsigned>(socket), nullptr) == 0;
    if (!good || rte_eth_dev_start(device_) != 0) {
        error = std::string("the driver does not start it: ") + rte_strerror(rte_errno);
        return false;
    }
    rte_eth_promiscuous_enable(device_);  // drivers that cannot hear all frames anyway
    return true;
}

Port::~Port() {
    if (device_ != RTE_MAX_ETHPORTS) {
        rte_eth_dev_info info{};
        const bool known = rte_eth_dev_info_get(device_, &info) == 0;
        rte_eth_dev_stop(device_);
        if (ours_ && known)
            rte_dev_remove(info.device);
        else
            rte_eth_dev_close(device_);
    }
    if (injected_ != nullptr) {
        void* frame = nullptr;
        while (rte_ring_dequeue(injected_, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
        rte_ring_free(injected_);
    }
}

void Port::send(unsigned worker, rte_mbuf** frames, unsigned count) {
    Queue& queue = queue_[worker % queues_];
    if (shared_) rte_spinlock_lock(&queue.lock);
    const unsigned sent =
        rte_eth_tx_burst(device_, static_cast<std::uint16_t>(worker % queues_), frames, static_cast<std::uint16_t>(count));
    queue.sent.store(queue.sent.load(std::memory_order_relaxed) + sent, std::memory_order_relaxed);
    if (sent < count)
        queue.dropped.store(queue.dropped.load(std::memory_order_relaxed) + count - sent, std::memory_order_relaxed);
    if (shared_) rte_spinlock_unlock(&queue.lock);
    if (sent < count) rte_pktmbuf_free_bulk(frames + sent, count - sent);
}

void Port::stats(offramp_port_stats& into) const {
    rte_eth_stats device{};
    rte_eth_link link{};
    into = {};
    into.received = received_.load(std::memory_order_relaxed);
    for (const Queue& queue : queue_) {
        into.sent += queue.sent.load(std::memory_order_relaxed);
        into.dropped += queue.dropped.load(std::memory_order_relaxed);
    }
    if (rte_eth_stats_get(device_, &device) == 0) into.missed = device.imissed + device.rx_nombuf;
    into.up = rte_eth_link_get_nowait(device_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

}  // namespace offramp
