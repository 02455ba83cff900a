// SPDX-License-Identifier: Apache-2.0
// A connection that speaks memcached's text protocol, with its meta commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "service.hpp"

namespace offramp::store::memcached {

using Words = std::vector<std::string_view>;

constexpr std::size_t most_key = 250;

class MemcachedSession : public Session {
  public:
    MemcachedSession(Service& service, bool trusted);

    std::size_t consume(std::string_view in, std::string& out) override;
    [[nodiscard]] std::string describe() const override { return "memcached"; }

  private:
    // A command at the beginning of `in`; the bytes it takes, 0 where it is not whole.
    std::size_t command(std::string_view in, std::string& out);
    // The data block behind a line of `line` bytes: those taken, 0 where it is not whole. `data` is empty-handed on a fault.
    std::size_t block(std::string_view in, std::size_t line, std::string_view length, std::string_view& data, bool& good,
                      std::string& out);
    void prove(std::string_view data, std::string& out);
    [[nodiscard]] bool may_change(std::size_t bytes, bool grows, std::string& out);
    void seal();

    void retrieve(std::string& out, std::size_t first, bool unique, bool touches);
    void store_value(std::string_view data, std::string& out);
    void remove(std::string& out);
    void count(std::string& out, bool up);
    void touch(std::string& out);
    void flush(std::string& out);
    void stats(std::string& out);
    void simple(std::string& out);

    void meta_get(std::string& out);
    void meta_set(std::string_view data, std::string& out);
    void meta_delete(std::string& out);
    void meta_count(std::string& out);
    void meta_debug(std::string& out);

    Service& service_;
    Words words_;
    std::string scratch_, key_;
    std::uint64_t swallow_ = 0;  // bytes of a value that nobody takes
};

// When an item expires, as memcached writes times: seconds from now, from 1970 if there are more of them than in 30 days,
// 0: never, negative: at once.
[[nodiscard]] std::int64_t end_of(const Store& store, std::int64_t time);
[[nodiscard]] bool good_key(std::string_view key);
// A counter's value: digits, with leading zeros allowed.
[[nodiscard]] bool parse_counter(std::string_view text, std::uint64_t& to);
void append_counter(Store& store, Entry* entry, std::uint64_t number);

}  // namespace offramp::store::memcached
