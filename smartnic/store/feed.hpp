// SPDX-License-Identifier: Apache-2.0
// The latest records of changes, for those who follow this store: a ring of bytes. A place in the feed is the number of bytes
// before it since its history began.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "record.hpp"

namespace offramp::store {

// 40 hexadecimal digits, as redis calls histories and processes.
[[nodiscard]] std::string random_id();

class Feed {
  public:
    // Begins a history with a name of its own.
    explicit Feed(std::size_t backlog);

    void add(const Change& change) { writer_.add(change); }
    void seal() {
        if (writer_.seal(number_ + 1, 0)) append();
    }

    [[nodiscard]] const std::string& id() const { return id_; }
    // Places of the first byte that is kept, and behind the last one.
    [[nodiscard]] std::uint64_t begin() const { return begin_; }
    [[nodiscard]] std::uint64_t end() const { return end_; }
    [[nodiscard]] std::uint64_t number() const { return number_; }  // of the last record
    [[nodiscard]] std::size_t backlog() const { return size_; }
    // Whether somebody who has everything up to a place of a history can go on from there.
    [[nodiscard]] bool has(std::string_view id, std::uint64_t place) const { return id == id_ && place >= begin_ && place <= end_; }
    // Some of the bytes from a place on, none at the end.
    [[nodiscard]] std::string_view from(std::uint64_t place, std::size_t most) const;

  private:
    void append();

    std::size_t size_;
    std::unique_ptr<char[]> ring_;
    std::string id_, record_;
    RecordWriter writer_{record_};
    std::uint64_t begin_ = 0, end_ = 0, number_ = 0;
};

}  // namespace offramp::store
