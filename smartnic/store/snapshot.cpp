// SPDX-License-Identifier: Apache-2.0
#include "snapshot.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "record.hpp"

namespace offramp::store {
namespace {

constexpr std::size_t most_buffered = std::size_t{256} << 10;
constexpr int most_wait_ms = 60'000;

}  // namespace

bool write_all(int to, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(to, bytes.data(), bytes.size());
        if (count > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (count < 0 && errno == EAGAIN) {
            pollfd ready{to, POLLOUT, 0};
            if (::poll(&ready, 1, most_wait_ms) <= 0) return false;
        } else if (count == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool write_snapshot(const Store& store, int to, std::uint64_t number) {
    std::string buffer;
    RecordWriter writer(buffer);
    std::uint64_t written = 0;
    bool good = true;
    const auto flush = [&] {
        if (!writer.seal(++written, 0)) return;
        good = good && write_all(to, buffer);
        buffer.clear();
    };
    store.index().each([&](const Entry* entry) {
        if (!good || store.expired(entry)) return;
        writer.add({Kind::set, entry->flags, entry->expires_ms, entry->key(), entry->value()});
        if (buffer.size() > most_buffered) flush();
    });
    if (writer.open()) flush();
    writer.add({Kind::end, 0, static_cast<std::int64_t>(number), {}, {}});
    flush();
    return good;
}

}  // namespace offramp::store
