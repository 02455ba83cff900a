// SPDX-License-Identifier: Apache-2.0
#include "port.hpp"

#include <rte_lcore.h>

namespace offramp {

std::unique_ptr<Port> Port::open(std::uint16_t number, std::string name, std::string& why) {
    constexpr std::uint16_t descriptors = 512;
    std::unique_ptr<Port> port(new Port(number, std::move(name)));
    const int socket = static_cast<int>(rte_socket_id());
    port->buffers_ = rte_pktmbuf_pool_create(("port-" + std::to_string(number)).c_str(), 3 * most_waiting, 256, 0,
                                             RTE_MBUF_DEFAULT_BUF_SIZE, socket);
    const rte_eth_conf config{};
    const bool good =
        port->buffers_ != nullptr && rte_eth_dev_configure(number, 1, 1, &config) == 0 &&
        rte_eth_rx_queue_setup(number, 0, descriptors, static_cast<unsigned>(socket), nullptr, port->buffers_) == 0 &&
        rte_eth_tx_queue_setup(number, 0, descriptors, static_cast<unsigned>(socket), nullptr) == 0 &&
        rte_eth_dev_start(number) == 0;
    if (!good) {
        why = "port " + port->name_ + ": the driver refuses one queue each way";
        return nullptr;
    }
    rte_eth_promiscuous_enable(number);  // drivers that cannot hear all frames anyway
    return port;
}

Port::~Port() {
    std::array<rte_mbuf*, burst> frames;
    while (const std::size_t count = waiting_.peek(frames)) {
        rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
        waiting_.drop(count, [](unsigned, std::size_t) {});
    }
    rte_pktmbuf_free_bulk(spare_.data(), static_cast<unsigned>(spares_));
    rte_eth_dev_stop(number_);
    rte_eth_dev_close(number_);
}

bool Port::refill() {
    if (rte_pktmbuf_alloc_bulk(buffers_, spare_.data(), burst) != 0) return false;
    spares_ = burst;
    return true;
}

std::size_t Port::flush() {
    std::size_t total = 0;
    while (waiting_.waiting() > 0) {
        std::array<rte_mbuf*, burst> frames;
        const auto count = static_cast<std::uint16_t>(waiting_.peek(frames));
        const std::uint16_t sent = rte_eth_tx_burst(number_, 0, frames.data(), count);
        waiting_.drop(sent, [this](unsigned priority, std::size_t gone) {
            sent_[priority].store(sent_[priority].load(std::memory_order_relaxed) + gone, std::memory_order_relaxed);
        });
        total += sent;
        if (sent < count) break;
    }
    return total;
}

std::uint64_t Port::sent() const {
    std::uint64_t total = 0;
    for (unsigned priority = 0; priority < classes; ++priority) total += sent(priority);
    return total;
}

std::uint64_t Port::missed() const {
    rte_eth_stats stats{};
    if (rte_eth_stats_get(number_, &stats) != 0) return 0;
    return stats.imissed + stats.rx_nombuf + stats.oerrors + broken_.load(std::memory_order_relaxed);
}

}  // namespace offramp
