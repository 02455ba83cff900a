// SPDX-License-Identifier: Apache-2.0
#include "record.hpp"

#include <array>
#include <cstring>

namespace offramp::store {
namespace {

template <typename T>
T get(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <typename T>
void put(char* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

#if !defined(__SSE4_2__)
constexpr auto table = [] {
    std::array<std::uint32_t, 256> remainders{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = (value & 1) ? value >> 1 ^ 0x82F63B78u : value >> 1;
        remainders[byte] = value;
    }
    return remainders;
}();
#endif

std::uint32_t crc32c(std::string_view text) {
    std::uint32_t checksum = ~0u;
    const char* at = text.data();
    std::size_t left = text.size();
#if defined(__SSE4_2__)
    for (; left >= 8; at += 8, left -= 8)
        checksum = static_cast<std::uint32_t>(__builtin_ia32_crc32di(checksum, get<std::uint64_t>(at)));
    for (; left > 0; ++at, --left) checksum = __builtin_ia32_crc32qi(checksum, static_cast<unsigned char>(*at));
#else
    for (; left > 0; ++at, --left) checksum = table[(checksum ^ static_cast<unsigned char>(*at)) & 0xFF] ^ checksum >> 8;
#endif
    return ~checksum;
}

}  // namespace

void RecordWriter::add(const Change& change) {
    if (!open_) {
        start_ = to_.size();
        to_.append(record_header, '\0');
        open_ = true;
    }
    char header[change_header];
    put(header, static_cast<std::uint32_t>(change.kind));
    put(header + 4, change.flags);
    put(header + 8, change.expires_ms);
    put(header + 16, static_cast<std::uint32_t>(change.key.size()));
    put(header + 20, static_cast<std::uint32_t>(change.value.size()));
    to_.append(header, sizeof header).append(change.key).append(change.value);
}

bool RecordWriter::seal(std::uint64_t number, std::uint64_t on_disk) {
    if (!open_) return false;
    char* at = to_.data() + start_;
    const std::size_t length = to_.size() - start_;
    put(at, static_cast<std::uint32_t>(length - record_header));
    put(at + 8, number);
    put(at + 16, on_disk);
    put(at + 4, crc32c({at + 8, length - 8}));
    open_ = false;
    return true;
}

std::size_t record_bytes(std::string_view from) {
    return from.size() < record_header ? 0 : record_header + get<std::uint32_t>(from.data());
}

bool RecordReader::parse(std::size_t at, std::uint64_t least, Header& to) const {
    if (all_.size() - at < record_header) return false;
    const char* from = all_.data() + at;
    const std::size_t length = get<std::uint32_t>(from);
    to.number = get<std::uint64_t>(from + 8);
    to.on_disk = get<std::uint64_t>(from + 16);
    if (length == 0 || length > all_.size() - at - record_header || to.number < least || to.on_disk >= to.number) return false;
    to.body = {from + record_header, length};
    return crc32c({from + 8, record_header - 8 + length}) == get<std::uint32_t>(from + 4);
}

bool RecordReader::next(std::uint64_t number) {
    Header header;
    if (!parse(good_, number, header) || header.number != number) return false;
    body_ = header.body;
    good_ += record_header + body_.size();
    return true;
}

bool RecordReader::change(Change& to) {
    if (body_.size() < change_header) return false;
    const char* at = body_.data();
    const std::size_t key = get<std::uint32_t>(at + 16), value = get<std::uint32_t>(at + 20);
    if (body_.size() - change_header < key || body_.size() - change_header - key < value) return false;
    to = {static_cast<Kind>(get<std::uint32_t>(at)), get<std::uint32_t>(at + 4), get<std::int64_t>(at + 8),
          body_.substr(change_header, key), body_.substr(change_header + key, value)};
    body_.remove_prefix(change_header + key + value);
    return true;
}

std::size_t RecordReader::proof_of_damage(std::uint64_t lost) const {
    Header header;
    for (std::size_t at = good_ + 1; at + record_header < all_.size(); ++at)
        if (parse(at, lost + 1, header) && header.on_disk >= lost && header.number - lost < std::uint64_t{1} << 40)
            return at;
    return 0;
}

}  // namespace offramp::store
