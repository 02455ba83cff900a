// SPDX-License-Identifier: Apache-2.0
#include "handover.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace offramp::handover {
namespace {

constexpr timeval patience{5, 0};
constexpr std::size_t most_bytes = 1 << 20, most_descriptors = 128;

class Writer {
  public:
    template <typename T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        append(std::as_bytes(std::span(&value, 1)));
    }
    template <typename T>
    void put_all(const std::vector<T>& values) {
        put(static_cast<std::uint64_t>(values.size()));
        append(std::as_bytes(std::span(values)));
    }
    template <typename T>
    void put_optional(const std::optional<T>& value) {
        put_all(value ? std::vector<T>{*value} : std::vector<T>{});
    }
    std::vector<std::byte> bytes;

  private:
    void append(Bytes more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
};

// Bytes that end early leave it bad and everything zero.
class Reader {
  public:
    explicit Reader(Bytes bytes) : bytes_(bytes) {}

    template <typename T>
    T get() {
        T value{};
        if (!(good_ = good_ && bytes_.size() >= sizeof value)) return value;
        std::memcpy(&value, bytes_.data(), sizeof value);
        bytes_ = bytes_.subspan(sizeof value);
        return value;
    }
    template <typename T>
    std::vector<T> get_all() {
        std::vector<T> values(count(sizeof(T)));
        for (T& value : values) value = get<T>();
        return values;
    }
    template <typename T>
    std::optional<T> get_optional() {
        const auto values = get_all<T>();
        return values.empty() ? std::nullopt : std::optional<T>(values.front());
    }
    // Parts have at least that many bytes.
    std::size_t count(std::size_t bytes) {
        const auto count = get<std::uint64_t>();
        good_ = good_ && count <= most_bytes && count * bytes <= bytes_.size();
        return good_ ? count : 0;
    }
    [[nodiscard]] bool whole() const { return good_ && bytes_.empty(); }

  private:
    Bytes bytes_;
    bool good_ = true;
};

}  // namespace

std::vector<std::byte> pack(const Client& client) {
    Writer to;
    to.put(client.greeted);
    to.put_all(client.received);
    to.put_all(client.regions);
    to.put(static_cast<std::uint64_t>(client.queues.size()));
    for (const QueueState& each : client.queues) {
        to.put(each.asked);
        to.put(each.taken);
        to.put(each.given);
        to.put(each.requests);
        to.put_all(each.tables);
        to.put_optional(each.transport);
        to.put_all(each.counts);
        to.put_optional(each.unfinished);
    }
    return std::move(to.bytes);
}

bool unpack(Bytes body, Client& client) {
    Reader from(body);
    client.greeted = from.get<bool>();
    client.received = from.get_all<std::byte>();
    client.regions = from.get_all<std::uint64_t>();
    client.queues.resize(from.count(sizeof(protocol::Queue)));
    for (QueueState& each : client.queues) {
        each.asked = from.get<protocol::Queue>();
        each.taken = from.get<std::uint64_t>();
        each.given = from.get<std::uint64_t>();
        each.requests = from.get<std::uint64_t>();
        each.tables = from.get_all<protocol::Tables>();
        each.transport = from.get_optional<protocol::Transport>();
        each.counts = from.get_all<std::uint64_t>();
        each.unfinished = from.get_optional<queue::Submission>();
    }
    return from.whole();
}

Line::Line(int socket) : socket_(socket) {
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK);
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

bool Line::send(std::uint32_t kind, Bytes body, std::span<const int> descriptors) {
    if (descriptors.size() > most_descriptors) return false;
    const protocol::Header header{protocol::magic, kind, static_cast<std::uint32_t>(body.size())};
    std::vector<std::byte> bytes(sizeof header + body.size());
    store(bytes.data(), header);
    std::copy(body.begin(), body.end(), bytes.begin() + sizeof header);
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> extra{};
    if (!descriptors.empty()) {
        message.msg_control = extra.data();
        message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* first = CMSG_FIRSTHDR(&message);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(first), descriptors.data(), descriptors.size_bytes());
    }
    const ssize_t sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
    for (auto done = static_cast<std::size_t>(std::max<ssize_t>(sent, 0)); sent > 0 && done < bytes.size();) {
        const ssize_t more = ::send(socket_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (more <= 0) return false;
        done += static_cast<std::size_t>(more);
    }
    return sent > 0;
}

bool Line::receive(std::uint32_t& kind, std::vector<std::byte>& body, std::vector<Descriptor>& descriptors) {
    std::array<std::byte, sizeof(protocol::Header)> head;
    body.clear();
    descriptors.clear();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> extra{};
    iovec part{head.data(), head.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = extra.data();
    message.msg_controllen = extra.size();
    const ssize_t length = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); length > 0 && each != nullptr; each = CMSG_NXTHDR(&message, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
        for (std::size_t at = 0; at + sizeof(int) <= each->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(each) + at, sizeof fd);
            descriptors.emplace_back(fd);
        }
    }
    if (length != static_cast<ssize_t>(head.size()) || (message.msg_flags & MSG_CTRUNC) != 0) return false;
    const auto header = load<protocol::Header>(head.data());
    if (header.magic != protocol::magic || header.length > most_bytes) return false;
    kind = header.kind;
    body.resize(header.length);
    return body.empty() || ::recv(socket_, body.data(), body.size(), MSG_WAITALL) == static_cast<ssize_t>(body.size());
}

}  // namespace offramp::handover
