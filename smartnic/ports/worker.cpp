// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include <pthread.h>
#include <signal.h>
#include <rte_lcore.h>
#include <rte_prefetch.h>
#include <time.h>

#include <cstring>
#include <string>

#include "flow.hpp"

namespace offramp {
namespace {

constexpr unsigned ahead = 8, most_handed = 2048, spins = 512, naps = 64;
constexpr std::chrono::microseconds nap{50}, sleep{500};

std::int64_t nanoseconds(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Headers are short: 16 bytes at a time, the last 16 perhaps twice.
void copy_head(std::uint8_t* into, const std::uint8_t* from, std::size_t size) {
    if (size < 16 || size > 128) {
        std::memcpy(into, from, size);
        return;
    }
    for (std::size_t at = 0; at + 16 < size; at += 16) std::memcpy(into + at, from + at, 16);
    std::memcpy(into + size - 16, from + size - 16, 16);
}

}  // namespace

Worker::Worker(Plant& plant, unsigned number) : plant_(plant), number_(number) {
    handed = rte_ring_create(("handed-" + std::to_string(number)).c_str(), most_handed, static_cast<int>(rte_socket_id()),
                             RING_F_SC_DEQ);
}

Worker::~Worker() {
    if (thread_.joinable()) thread_.join();
    void* frame = nullptr;
    while (handed != nullptr && rte_ring_dequeue(handed, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    rte_ring_free(handed);
}

void Worker::start() {
    plant_.gate.enter();
    thread_ = std::thread([this] {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for Python
        rte_thread_register();                        // for caches of buffers; without, it works all the same
        work();
        rte_thread_unregister();
        plant_.gate.leave();
    });
}

void Worker::work() {
    for (unsigned idle = 0;;) {
        const bool tired = idle >= spins;
        if (!plant_.gate.pass(!tired ? std::chrono::microseconds{} : idle < spins + naps ? nap : sleep)) return;
        idle = poll() ? 0 : idle + 1;
    }
}

bool Worker::poll() {
    const std::uint64_t before = received_.load(std::memory_order_relaxed) + processed_.load(std::memory_order_relaxed);
    if (program.run != 0)  // else frames wait in their devices
        for (const unsigned port : ports) receive(port);
    if (plant_.by_flow) {
        Burst burst_of;
        burst_of.count = rte_ring_dequeue_burst(handed, reinterpret_cast<void**>(burst_of.frames.data()), burst, nullptr);
        for (unsigned i = 0; i < burst_of.count; ++i)
            burst_of.ports[i] = static_cast<std::int32_t>(burst_of.frames[i]->hash.usr);
        if (burst_of.count != 0) run(burst_of);
    }
    flush();
    return received_.load(std::memory_order_relaxed) + processed_.load(std::memory_order_relaxed) != before;
}

void Worker::receive(unsigned number) {
    Port& port = *plant_.ports[number];
    if (!rte_ring_empty(port.injected())) {
        std::array<rte_mbuf*, burst> frames;
        const unsigned count =
            rte_ring_dequeue_burst(port.injected(), reinterpret_cast<void**>(frames.data()), burst, nullptr);
        for (unsigned i = 0; i < count; ++i) send(frames[i], number);
    }
    Burst arrived;
    const unsigned count = port.receive(arrived.frames.data());
    if (count == 0) return;
    add(received_, count);
    // Frames in several pieces become whole, or are lost.
    for (unsigned i = 0; i < count; ++i) {
        if (unlikely(arrived.frames[i]->nb_segs > 1) && rte_pktmbuf_linearize(arrived.frames[i]) != 0) {
            rte_pktmbuf_free(arrived.frames[i]);
            add(lost_, 1);
            continue;
        }
        arrived.frames[arrived.count] = arrived.frames[i];
        arrived.ports[arrived.count++] = static_cast<std::int32_t>(number);
    }
    if (plant_.by_flow)
        spread(arrived.frames.data(), arrived.count, number);
    else
        run(arrived);
}

void Worker::spread(rte_mbuf** frames, unsigned count, unsigned port) {
    Burst own;
    const unsigned workers = static_cast<unsigned>(plant_.workers.size());
    for (unsigned i = 0; i < std::min(count, ahead); ++i) rte_prefetch0(rte_pktmbuf_mtod(frames[i], void*));
    for (unsigned i = 0; i < count; ++i) {
        if (i + ahead < count) rte_prefetch0(rte_pktmbuf_mtod(frames[i + ahead], void*));
        rte_mbuf* frame = frames[i];
        const unsigned owner =
            flow_hash(rte_pktmbuf_mtod(frame, const std::uint8_t*), frame->data_len) % workers;
        if (owner == number_) {
            own.frames[own.count] = frame;
            own.ports[own.count++] = static_cast<std::int32_t>(port);
            continue;
        }
        frame->hash.usr = port;
        if (rte_ring_enqueue(plant_.workers[owner]->handed, frame) == 0) {
            add(handed_, 1);
        } else {
            add(lost_, 1);
            rte_pktmbuf_free(frame);
        }
    }
    if (own.count != 0) run(own);
}

void Worker::run(Burst& frames) {
    if (program.run == 0) {
        add(lost_, frames.count);
        rte_pktmbuf_free_bulk(frames.frames.data(), frames.count);
        return;
    }
    auto* words = reinterpret_cast<std::int64_t*>(program.context);
    words[program.layout.now_us] = (nanoseconds(CLOCK_MONOTONIC) - program.epoch_ns) / 1000;
    add(processed_, frames.count);
    if (program.whole) {
        run_whole(frames);
        return;
    }
    std::array<std::int64_t, burst> addresses;
    std::array<std::int32_t, burst> lengths;
    for (unsigned i = 0; i < frames.count; ++i) {
        addresses[i] = reinterpret_cast<std::int64_t>(rte_pktmbuf_mtod(frames.frames[i], void*));
        lengths[i] = frames.frames[i]->data_len;
        rte_prefetch0(reinterpret_cast<void*>(addresses[i]));
    }
    reinterpret_cast<offramp_run>(program.run)(program.context, addresses.data(), lengths.data(), frames.ports.data(),
                                               frames.count);
    const auto* leaving = reinterpret_cast<const offramp_leaving*>(words[program.layout.index_data]);
    const long count = words[program.layout.index_used] / static_cast<long>(sizeof(offramp_leaving));
    const auto* heads = reinterpret_cast<const std::uint8_t*>(words[program.layout.out_data]);
    words[program.layout.index_used] = words[program.layout.out_used] = 0;
    distribute(frames, leaving, count, heads);
}

// Records of a frame follow each other. The last one has the frame itself where it begins with a new head; those before
// have copies, made while the frame is as it came.
void Worker::distribute(Burst& frames, const offramp_leaving* leaving, long count, const std::uint8_t* heads) {
    std::uint64_t kept = 0;
    for (long i = 0; i < count; ++i) {
        const offramp_leaving& one = leaving[i];
        rte_mbuf* frame = frames.frames[static_cast<std::size_t>(one.number)];
        const bool last = i + 1 == count || leaving[i + 1].number != one.number;
        const long shift = one.skipped - one.head;
        if (likely(last && one.skipped >= 0 && rte_pktmbuf_headroom(frame) + shift >= 0 &&
                   one.head + one.rest <= 65535 && frame->refcnt == 1)) {
            frame->data_off = static_cast<std::uint16_t>(frame->data_off + shift);
            frame->data_len = static_cast<std::uint16_t>(one.head + one.rest);
            frame->pkt_len = frame->data_len;
            copy_head(rte_pktmbuf_mtod(frame, std::uint8_t*), heads, static_cast<std::size_t>(one.head));
            kept |= std::uint64_t{1} << one.number;
        } else {
            frame = copy_of(frame, one, heads);
        }
        heads += one.head;
        if (frame != nullptr) send(frame, one.port);
    }
    const std::uint64_t all = frames.count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << frames.count) - 1;
    if (likely(kept == all)) return;
    for (unsigned i = 0; i < frames.count; ++i)
        if ((kept >> i & 1) == 0) rte_pktmbuf_free(frames.frames[i]);
}

void Worker::run_whole(Burst& frames) {
    auto* words = reinterpret_cast<std::int64_t*>(program.context);
    for (unsigned i = 0; i < frames.count; ++i) {
        rte_mbuf* frame = frames.frames[i];
        const std::int32_t length = frame->data_len;
        reinterpret_cast<offramp_run_whole>(program.run)(
            program.context, reinterpret_cast<std::int64_t>(rte_pktmbuf_mtod(frame, void*)), length, &length,
            &frames.ports[i], 1);
        const auto* records = reinterpret_cast<const std::int64_t*>(words[program.layout.index_data]);
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(words[program.layout.out_data]);
        const long count = words[program.layout.index_used] / 16;
        words[program.layout.index_used] = words[program.layout.out_used] = 0;
        for (long each = 0; each < count; ++each) {
            const offramp_leaving whole{records[2 * each], records[2 * each + 1], 0, -1, 0};
            rte_mbuf* copy = copy_of(frame, whole, bytes);
            bytes += whole.head;
            if (copy != nullptr) send(copy, whole.port);
        }
        rte_pktmbuf_free(frame);
    }
}

rte_mbuf* Worker::copy_of(const rte_mbuf* frame, const offramp_leaving& leaving, const std::uint8_t* head) {
    rte_mbuf* copy = rte_pktmbuf_alloc(plant_.buffers);
    const long length = leaving.head + leaving.rest;
    if (copy == nullptr || length > rte_pktmbuf_tailroom(copy)) {
        rte_pktmbuf_free(copy);
        add(lost_, 1);
        return nullptr;
    }
    auto* into = rte_pktmbuf_mtod(copy, std::uint8_t*);
    std::memcpy(into, head, static_cast<std::size_t>(leaving.head));
    if (leaving.rest != 0)
        std::memcpy(into + leaving.head, rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, leaving.skipped),
                    static_cast<std::size_t>(leaving.rest));
    copy->data_len = static_cast<std::uint16_t>(length);
    copy->pkt_len = copy->data_len;
    return copy;
}

void Worker::send(rte_mbuf* frame, std::int64_t port) {
    if (unlikely(port < 0 || port >= most_ports || plant_.ports[static_cast<std::size_t>(port)] == nullptr)) {
        if (!plant_.exceptions.put(frame, static_cast<std::uint32_t>(port))) {
            rte_pktmbuf_free(frame);
            add(unknown_, 1);
        }
        return;
    }
    Pending& pending = pending_[static_cast<std::size_t>(port)];
    if (pending.count == 0) sending_[sendings_++] = static_cast<std::uint16_t>(port);
    pending.frames[pending.count++] = frame;
    if (pending.count == burst) {
        plant_.ports[static_cast<std::size_t>(port)]->send(number_, pending.frames.data(), burst);
        pending.count = 0;
        for (unsigned i = 0; i < sendings_; ++i)
            if (sending_[i] == port) sending_[i] = sending_[--sendings_];
    }
}

void Worker::flush() {
    for (; sendings_ > 0; --sendings_) {
        const unsigned port = sending_[sendings_ - 1];
        Pending& pending = pending_[port];
        plant_.ports[port]->send(number_, pending.frames.data(), pending.count);
        pending.count = 0;
    }
}

void Worker::stats(offramp_worker_stats& into) {
    into = {received_.load(), processed_.load(), handed_.load(), lost_.load(), unknown_.load(), 0};
    clockid_t clock{};
    if (thread_.joinable() && ::pthread_getcpuclockid(thread_.native_handle(), &clock) == 0)
        into.cpu_ns = static_cast<std::uint64_t>(nanoseconds(clock));
}

}  // namespace offramp
