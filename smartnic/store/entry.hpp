// SPDX-License-Identifier: Apache-2.0
// A key and its value, in one piece of memory.
#pragma once

#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace offramp::store {

struct Entry {
    std::uint64_t hash;
    std::uint64_t version;    // of the last change, unique in the store: memcached's cas
    std::int64_t expires_ms;  // 0: never
    std::uint32_t flags;      // memcached's, opaque
    std::uint32_t use;        // when or how often it was used (`eviction.hpp`)
    std::uint32_t key_length, value_length;

    [[nodiscard]] char* bytes() { return reinterpret_cast<char*>(this + 1); }
    [[nodiscard]] const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
    [[nodiscard]] std::string_view key() const { return {bytes(), key_length}; }
    [[nodiscard]] std::string_view value() const { return {bytes() + key_length, value_length}; }
    [[nodiscard]] char* value_bytes() { return bytes() + key_length; }
    // Bytes that a value may have here: what malloc has given beyond what it was asked for is used, too.
    [[nodiscard]] std::size_t room() const {
        return ::malloc_usable_size(const_cast<Entry*>(this)) - sizeof(Entry) - key_length;
    }

    // Creates an entry with room for a value of `room` bytes or more.
    static Entry* make(std::uint64_t hash, std::string_view key, std::size_t room) {
        auto* entry = static_cast<Entry*>(std::malloc(sizeof(Entry) + key.size() + room));
        if (entry == nullptr) throw std::bad_alloc();
        *entry = {hash, 0, 0, 0, 0, static_cast<std::uint32_t>(key.size()), 0};
        std::memcpy(entry->bytes(), key.data(), key.size());
        return entry;
    }
    static void free(Entry* entry) { std::free(entry); }

    // Bytes of memory, with what malloc keeps beside it.
    [[nodiscard]] std::size_t footprint() const { return ::malloc_usable_size(const_cast<Entry*>(this)) + sizeof(std::size_t); }
};

}  // namespace offramp::store
