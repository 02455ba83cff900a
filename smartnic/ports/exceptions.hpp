// SPDX-License-Identifier: Apache-2.0
// Frames for ports that are not DPDK's, on their way to Python.
#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace offramp {

class Exceptions {
  public:
    // Keeps nothing if there is no memory.
    void open(int socket) {
        if (ring_ == nullptr) ring_ = rte_ring_create("exceptions", 8192, socket, RING_F_SC_DEQ);
        if (event_ < 0) event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }

    [[nodiscard]] int descriptor() const { return event_; }

    // Takes a frame; false: it is full.
    bool put(rte_mbuf* frame, std::uint32_t port) {
        frame->hash.usr = port;
        if (ring_ == nullptr || rte_ring_enqueue(ring_, frame) != 0) return false;
        if (!notified_.exchange(true)) {
            const std::uint64_t one = 1;
            if (::write(event_, &one, sizeof one) < 0) notified_ = false;
        }
        return true;
    }

    long take(std::uint8_t* rows, long stride, std::int32_t* lengths, std::int32_t* ports, long most) {
        std::uint64_t count = 0;
        if (::read(event_, &count, sizeof count) < 0) count = 0;
        notified_ = false;
        long taken = 0;
        void* entry = nullptr;
        for (; taken < most && rte_ring_dequeue(ring_, &entry) == 0; ++taken) {
            auto* frame = static_cast<rte_mbuf*>(entry);
            const long length = std::min<long>(frame->data_len, stride);
            std::memcpy(rows + taken * stride, rte_pktmbuf_mtod(frame, void*), static_cast<std::size_t>(length));
            lengths[taken] = static_cast<std::int32_t>(length);
            ports[taken] = static_cast<std::int32_t>(frame->hash.usr);
            rte_pktmbuf_free(frame);
        }
        if (!rte_ring_empty(ring_) && !notified_.exchange(true)) {
            const std::uint64_t one = 1;
            if (::write(event_, &one, sizeof one) < 0) notified_ = false;
        }
        return taken;
    }

  private:
    rte_ring* ring_ = nullptr;
    int event_ = -1;
    std::atomic<bool> notified_ = false;
};

}  // namespace offramp
