// SPDX-License-Identifier: Apache-2.0
#include "shared_link.hpp"

#include <cerrno>
#include <sys/socket.h>

namespace offramp {

namespace {

constexpr std::uint64_t mask = rings::ring_bytes - 1;
constexpr std::uint64_t padded(std::uint64_t length) { return rings::entry_bytes + ((length + 7) & ~std::uint64_t{7}); }

}  // namespace

static_assert(2 * (rings::message_bytes + 4096) < rings::ring_bytes);

// Room for a whole message in one piece; the rest of the ring's end is skipped where it is too short.
bool SharedLink::has_room() {
    const std::uint64_t used = up_.position - up_.word(rings::tail_at).load(std::memory_order_acquire);
    if (used > rings::ring_bytes) {
        lie_ = true;
        return false;
    }
    const std::uint64_t free = rings::ring_bytes - used, left = rings::ring_bytes - (up_.position & mask);
    if (left >= most_entry) return free >= most_entry;
    if (free < left + most_entry) return false;
    store<std::uint64_t>(up_.entries() + (up_.position & mask), rings::skip);
    up_.position += left;
    return true;
}

bool SharedLink::begin() {
    bool there = has_room();
    if (!there && !lie_) {  // the switch tells when it gives some back, unless it just has
        up_.word(rings::wants_at).store(1, std::memory_order_release);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        there = has_room();
    }
    if (there && full_) up_.word(rings::wants_at).store(0, std::memory_order_release);
    full_ = !there;
    if (there) message_ = up_.entries() + (up_.position & mask) + rings::entry_bytes;
    return there;
}

std::byte* SharedLink::room() {
    if (frames_ == 0 && !begin()) return nullptr;
    return frames_ == most_frames || bytes_ > rings::message_bytes - longest ? nullptr : message_ + bytes_;
}

void SharedLink::add(std::size_t length) {
    lengths_[frames_++] = static_cast<std::uint16_t>(length);
    bytes_ += length;
}

Link::Outcome SharedLink::send() {
    if (gone_) return Outcome::gone;
    const std::size_t even = bytes_ + (bytes_ & 1), length = even + 2 * frames_;
    for (std::size_t i = 0; i < frames_; ++i) store_be16(message_ + even + 2 * i, lengths_[i]);
    store<std::uint64_t>(message_ - rings::entry_bytes + rings::length_at, length);
    store<std::uint64_t>(message_ - rings::entry_bytes + rings::frames_at, frames_);
    up_.position += padded(length);
    up_.word(0).store(up_.position, std::memory_order_release);
    ring();
    sent += frames_;
    frames_ = bytes_ = 0;
    return Outcome::done;
}

// The first message that was not seen.
Link::Outcome SharedLink::next_entry(std::size_t& place, std::size_t& length) {
    for (;;) {
        const std::uint64_t here = down_.word(0).load(std::memory_order_acquire) - down_.position;
        if (here == 0) return gone_ ? Outcome::gone : Outcome::busy;
        place = down_.position & mask;
        const std::uint64_t left = rings::ring_bytes - place;
        if (here > rings::ring_bytes || here % 8 != 0) return Outcome::lie;
        const std::uint64_t said = down_.word(rings::entries_at + place).load(std::memory_order_relaxed);
        if (said == rings::skip && place != 0 && here >= left) {
            down_.position += left;
            continue;
        }
        if (said > rings::most_message || padded(said) > here || padded(said) > left) return Outcome::lie;
        length = said;
        return Outcome::done;
    }
}

Link::Outcome SharedLink::receive(const Take& take) {
    std::size_t place = 0, length = 0;
    if (lie_) return Outcome::lie;
    if (const Outcome outcome = next_entry(place, length); outcome != Outcome::done) return outcome;
    const std::byte* entry = down_.entries() + place;
    const std::uint64_t count = down_.word(rings::entries_at + place + rings::frames_at).load(std::memory_order_relaxed);
    if (count > length / 2) return Outcome::lie;
    const std::byte* frame = entry + rings::entry_bytes;
    const std::size_t even = length - 2 * count;
    taken_.resize(count);
    std::size_t whole = 0;
    for (std::size_t i = 0; i < count; ++i) whole += taken_[i] = load_be16(frame + even + 2 * i);
    if (whole + (whole & 1) != even) return Outcome::lie;
    for (const std::size_t bytes : taken_) {
        take(Bytes{frame, bytes});
        frame += bytes;
    }
    down_.position += padded(length);
    down_.word(rings::tail_at).store(down_.position, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (down_.word(rings::wants_at).load(std::memory_order_acquire) != 0) ring();
    received += count;
    return Outcome::done;
}

bool SharedLink::wait(bool writing, std::int64_t ns) {
    if (!drain_bell()) gone_ = true;
    // Everything announced so far has arrived: only later frames may be awaited.
    if (gone_ || down_.word(0).load(std::memory_order_acquire) != down_.position || (writing && has_room())) return true;
    return wait_for(bell_, false, ns);
}

// Who is gone, or has not heard the last time, is not told.
void SharedLink::ring() const { static_cast<void>(::send(bell_, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT)); }

bool SharedLink::drain_bell() {
    for (;;) {
        char byte;
        const ssize_t size = ::recv(bell_, &byte, 1, MSG_DONTWAIT);
        if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (size < 0) return true;
    }
}

}  // namespace offramp
