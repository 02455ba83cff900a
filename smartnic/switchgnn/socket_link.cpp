// SPDX-License-Identifier: Apache-2.0
#include "socket_link.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace offramp {

bool wait_for(int descriptor, bool writing, std::int64_t ns) {
    pollfd asked{descriptor, static_cast<short>(writing ? POLLIN | POLLOUT : POLLIN), 0};
    constexpr std::int64_t second = 1'000'000'000;
    const timespec limit{ns / second, ns % second};
    return ::ppoll(&asked, 1, &limit, nullptr) >= 0 || errno != EINTR;
}

Time clock_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * Time{1'000'000'000} + now.tv_nsec;
}

std::byte* SocketLink::room() {
    return frames_ == most_frames || bytes_ > message_bytes - longest ? nullptr : message_.get() + bytes_;
}

void SocketLink::add(std::size_t length) {
    store_be16(head_.data() + 4 + 2 * frames_++, static_cast<std::uint16_t>(length));
    bytes_ += length;
}

Link::Outcome SocketLink::send() { return send_message(message_.get()); }

Link::Outcome SocketLink::send(Bytes& frames, std::size_t length) {
    const std::size_t most = std::clamp<std::size_t>(message_bytes / length, 1, most_frames);
    while (!frames.empty()) {
        while (frames_ < most && bytes_ < frames.size()) add(length);
        const std::size_t bytes = bytes_;
        const Outcome outcome = send_message(frames.data());
        frames_ = bytes_ = 0;
        if (outcome != Outcome::done) return outcome;
        frames = frames.subspan(bytes);
    }
    return Outcome::done;
}

// Sends the frames that were added, which lie there.
Link::Outcome SocketLink::send_message(const std::byte* frames) {
    store_be32(head_.data(), static_cast<std::uint32_t>(frames_));
    iovec parts[] = {{head_.data(), 4 + 2 * frames_}, {const_cast<std::byte*>(frames), bytes_}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (::sendmsg(descriptor_, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return errno == EAGAIN || errno == EINTR ? Outcome::busy : Outcome::gone;
    sent += frames_;
    frames_ = bytes_ = 0;
    return Outcome::done;
}

Link::Outcome SocketLink::next_message() {
    for (;;) {
        const ssize_t size = ::recv(descriptor_, taken_.get(), most_message, MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Outcome::busy;
        if (size <= 0) return Outcome::gone;
        if (adds_up(static_cast<std::size_t>(size))) break;
        ++malformed;
    }
    received += count_;
    return Outcome::done;
}

bool SocketLink::adds_up(std::size_t size) {
    if (size < 4) return false;
    count_ = load_be32(taken_.get());
    if (count_ > size / 2 || size < 4 + 2 * count_) return false;
    std::size_t whole = 4 + 2 * count_;
    for (std::size_t i = 0; i < count_; ++i) whole += load_be16(taken_.get() + 4 + 2 * i);
    return whole == size;
}

Link::Outcome SocketLink::receive(const Take& take) {
    const Outcome outcome = next_message();
    if (outcome != Outcome::done) return outcome;
    const std::byte *lengths = taken_.get() + 4, *frame = lengths + 2 * count_;
    for (std::size_t i = 0; i < count_; ++i) {
        const std::size_t length = load_be16(lengths + 2 * i);
        take(Bytes{frame, length});
        frame += length;
    }
    return outcome;
}

}  // namespace offramp
