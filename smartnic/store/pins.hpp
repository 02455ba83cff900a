// SPDX-License-Identifier: Apache-2.0
// Values that answers on their way show without a copy. Nobody writes into one: what would change it takes its place instead, and
// one that has left the store is freed when the last of these answers is sent.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "entry.hpp"

namespace offramp::store {

class Pins {
  public:
    static constexpr std::size_t least = std::size_t{4} << 10;  // bytes that are not worth a copy

    [[nodiscard]] bool holds(const Entry* entry) const { return entry->value_length >= least && pinned_.contains(entry); }
    void pin(const Entry* entry) { ++pinned_[entry].count; }
    void unpin(const Entry* entry) {
        const auto place = pinned_.find(entry);
        if (--place->second.count > 0) return;
        Entry* left = place->second.left;
        pinned_.erase(place);
        if (left == nullptr) return;
        left_bytes_ -= left->footprint();
        Entry::free(left);
    }
    // Frees an entry that has left the store, as soon as no answer shows it.
    void free(Entry* entry) {
        const auto place = entry->value_length < least ? pinned_.end() : pinned_.find(entry);
        if (place == pinned_.end()) return Entry::free(entry);
        place->second.left = entry;
        left_bytes_ += entry->footprint();
    }
    // Bytes of entries that have left the store and are still there.
    [[nodiscard]] std::size_t left_bytes() const { return left_bytes_; }

  private:
    struct Pinned {
        std::size_t count = 0;
        Entry* left = nullptr;  // the entry itself, once it has left the store
    };

    std::unordered_map<const Entry*, Pinned> pinned_;
    std::size_t left_bytes_ = 0;
};

// One answer's hold on an entry.
class Pin {
  public:
    Pin(Pins& pins, const Entry* entry) : pins_(&pins), entry_(entry) { pins.pin(entry); }
    Pin(Pin&& other) noexcept : pins_(other.pins_), entry_(std::exchange(other.entry_, nullptr)) {}
    Pin& operator=(Pin&& other) noexcept {
        std::swap(pins_, other.pins_);
        std::swap(entry_, other.entry_);
        return *this;
    }
    ~Pin() { release(); }

    void release() {
        if (const Entry* entry = std::exchange(entry_, nullptr); entry != nullptr) pins_->unpin(entry);
    }

  private:
    Pins* pins_;
    const Entry* entry_;
};

}  // namespace offramp::store
