// SPDX-License-Identifier: Apache-2.0
#include "feed.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "free.hpp"

namespace offramp::store {
namespace {

constexpr std::size_t kept_record = std::size_t{1} << 20;  // of a record's buffer that was once longer

}  // namespace

std::string random_id() {
    std::array<unsigned char, 20> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
    std::string id;
    for (const unsigned char byte : bytes)
        for (const int shift : {4, 0}) id.push_back("0123456789abcdef"[byte >> shift & 15]);
    return id;
}

Feed::Feed(std::size_t backlog) : size_(backlog), ring_(new char[backlog]), id_(random_id()) {}

void Feed::append() {
    ++number_;
    std::string_view bytes = record_;
    end_ += bytes.size();
    if (bytes.size() > size_) bytes = {};  // nobody can go on from before it
    for (std::uint64_t place = end_ - bytes.size(); !bytes.empty();) {
        const std::size_t at = place % size_, count = std::min(bytes.size(), size_ - at);
        std::memcpy(ring_.get() + at, bytes.data(), count);
        bytes.remove_prefix(count);
        place += count;
    }
    begin_ = std::max(begin_, record_.size() > size_ ? end_ : end_ - std::min<std::uint64_t>(end_, size_));
    record_.clear();
    if (record_.capacity() > kept_record) free_memory(record_);
}

std::string_view Feed::from(std::uint64_t place, std::size_t most) const {
    const std::size_t at = place % size_;
    return {ring_.get() + at, std::min({most, size_ - at, static_cast<std::size_t>(end_ - place)})};
}

}  // namespace offramp::store
