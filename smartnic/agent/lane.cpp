// SPDX-License-Identifier: Apache-2.0
#include "lane.hpp"

#include <bit>
#include <shared_mutex>

#include "port.hpp"

namespace offramp {

Lane::~Lane() {
    drain();
    rte_pktmbuf_free_bulk(spare_.data(), static_cast<unsigned>(spares_));
    rte_ring_free(inbox_);
}

void Lane::drain() {
    Frames frames;
    while (const unsigned count = from_inbox(frames)) rte_pktmbuf_free_bulk(frames.data(), count);
    while (const std::size_t count = waiting_.peek(frames)) {
        rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
        waiting_.drop(count, [](unsigned, std::size_t) {});
    }
}

bool Lane::refill() {
    if (rte_pktmbuf_alloc_bulk(buffers_, spare_.data(), burst) != 0) return false;
    spares_ = burst;
    return true;
}

unsigned Lane::from_inbox(Frames& frames) {
    return rte_ring_dequeue_burst(inbox_, reinterpret_cast<void**>(frames.data()), burst, nullptr);
}

unsigned Lane::from_queue(std::uint16_t queue, Frames& frames) {
    std::atomic_flag& polled = port_.lane(queue).polled_;
    if (polled.test_and_set(std::memory_order_acquire)) return 0;
    const unsigned count = rte_eth_rx_burst(port_.number(), queue, frames.data(), burst);
    polled.clear(std::memory_order_release);
    counts_.received += count;
    return count;
}

std::uint16_t Lane::next_idle(std::uint16_t queue) const {
    // From the own queue to the first, then upwards.
    std::uint16_t next = queue == number_ ? std::uint16_t{0} : static_cast<std::uint16_t>(queue + 1);
    while (next < port_.lanes() && (next == number_ || port_.lane(next).taken())) ++next;
    return next < port_.lanes() ? next : none;
}

bool Lane::whole(rte_mbuf* frame) {
    if (frame->nb_segs == 1 || rte_pktmbuf_linearize(frame) == 0) return true;
    counts_.broken += 1;
    return false;
}

unsigned Lane::sort(Frames& frames, unsigned count, Frames& kept) {
    for (unsigned i = 0; i < std::min<std::size_t>(count, ahead); ++i) rte_prefetch0(rte_pktmbuf_mtod(frames[i], void*));
    const std::shared_lock lock(port_.changes_);
    unsigned mine = 0, dropped = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (i + ahead < count) rte_prefetch0(rte_pktmbuf_mtod(frames[i + ahead], void*));
        rte_mbuf* frame = frames[i];
        if (!whole(frame)) {
            frames[dropped++] = frame;
            continue;
        }
        rules::Targets targets = port_.match(frame, counts_);
        if (targets == 0) {
            frames[dropped++] = frame;
            continue;
        }
        // Several have the same bytes, which they only read.
        if (const int takers = std::popcount(targets); takers > 1)
            rte_mbuf_refcnt_update(frame, static_cast<std::int16_t>(takers - 1));
        const rules::Targets own = rules::Targets{1} << number_;
        if (targets & own) kept[mine++] = frame;
        for (targets &= ~own; targets != 0; targets &= targets - 1) {
            if (port_.lane(static_cast<std::uint16_t>(std::countr_zero(targets))).hand(frame)) {
                counts_.handed += 1;
            } else {
                counts_.broken += 1;
                rte_pktmbuf_free(frame);
            }
        }
    }
    rte_pktmbuf_free_bulk(frames.data(), dropped);
    return mine;
}

std::uint64_t Lane::lost() const {
    rte_eth_stats device{};
    if (rte_eth_stats_get(port_.number(), &device) != 0) return counts_.broken;
    return device.imissed + device.rx_nombuf + device.oerrors + counts_.broken;
}

void Lane::tag(rte_mbuf* frame) {
    port_.tag(frame);
}

std::size_t Lane::flush() {
    std::size_t total = 0;
    while (waiting_.waiting() > 0) {
        Frames frames;
        const auto count = static_cast<std::uint16_t>(waiting_.peek(frames));
        const std::uint16_t sent = rte_eth_tx_burst(port_.number(), number_, frames.data(), count);
        waiting_.drop(sent, [this](unsigned priority, std::size_t gone) { counts_.sent[priority] += gone; });
        total += sent;
        if (sent < count) break;
    }
    return total;
}

}  // namespace offramp
