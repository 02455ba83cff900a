// SPDX-License-Identifier: Apache-2.0
// A connection that speaks memcached's text protocol, with its meta commands, or its binary one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "free.hpp"
#include "memcached/binary.hpp"
#include "service.hpp"

namespace offramp::store::memcached {

constexpr const char* bad_format = "CLIENT_ERROR bad command line format\r\n";

using Words = std::vector<std::string_view>;

constexpr std::size_t most_key = 250;

class MemcachedSession : public Session {
  public:
    MemcachedSession(Service& service, bool trusted);

    std::size_t consume(std::string_view in, Answer& out) override;
    [[nodiscard]] ClientFacts facts() const override {
        ClientFacts facts;
        facts.command = binary_ ? "memcached|binary" : "memcached|text";
        return facts;
    }
    void release() override { free_memory(words_), scratch_.release(), free_memory(key_); }
    [[nodiscard]] std::size_t footprint() const override {
        return words_.capacity() * sizeof(std::string_view) + scratch_.footprint() + key_.capacity();
    }

  private:
    // A command at the beginning of `in`; the bytes it takes, 0 where it is not whole.
    std::size_t command(std::string_view in, Answer& out);
    // The same for a command of the binary protocol.
    std::size_t binary_command(std::string_view in, Answer& out);
    void execute_line(std::string_view data, bool stores, bool meta_store, Answer& out);
    // The data block behind a line of `line` bytes: those taken, 0 where it is not whole. `data` is empty-handed on a fault.
    std::size_t block(std::string_view in, std::size_t line, std::string_view length, std::string_view& data, bool& good,
                      Answer& out);
    void prove(std::string_view data, Answer& out);
    // Why a value may not change; nullptr where it may. `SERVER_ERROR` goes before it.
    [[nodiscard]] const char* refusal(std::size_t bytes, bool grows);
    [[nodiscard]] bool may_change(std::size_t bytes, bool grows, Answer& out);
    // A value that could not be replaced is removed: nobody may take it for the new one.
    void drop_old(std::string_view key);
    void seal();
    // Bytes of a key's value.
    [[nodiscard]] std::size_t length_of(std::string_view key) const {
        const Entry* entry = service_.store.peek(key);
        return entry == nullptr ? 0 : entry->value_length;
    }

    void retrieve(Answer& out, std::size_t first, bool unique, bool touches);
    void store_value(std::string_view data, Answer& out);
    void remove(Answer& out);
    void count(Answer& out, bool up);
    void touch(Answer& out);
    void flush(Answer& out);
    void flush_after(std::int64_t delay_s);
    void stats(Answer& out);
    void each_stat(const std::function<void(std::string_view name, std::string_view value)>& see) const;
    void simple(Answer& out);

    void meta_get(Answer& out);
    void meta_set(std::string_view data, Answer& out);
    void meta_delete(Answer& out);
    void meta_count(Answer& out);
    void meta_debug(Answer& out);

    void execute(const BinaryRequest& request, Answer& out);
    [[nodiscard]] bool binary_may_change(const BinaryRequest& request, std::size_t bytes, bool grows, Answer& out);
    void binary_get(const BinaryRequest& request, Answer& out);
    void binary_store(const BinaryRequest& request, Answer& out);
    void binary_join(const BinaryRequest& request, Answer& out);
    void binary_remove(const BinaryRequest& request, Answer& out);
    void binary_count(const BinaryRequest& request, Answer& out);
    void binary_stats(const BinaryRequest& request, Answer& out);

    Service& service_;
    Words words_;
    Answer scratch_;
    std::string key_;
    std::uint64_t swallow_ = 0;  // bytes of a value that nobody takes
    std::size_t searched_ = 0;   // bytes of a line that are searched for its end
    bool binary_ = false, began_ = false;
};

// When an item expires, as memcached writes times: seconds from now, from 1970 if there are more of them than in 30 days,
// 0: never, negative: at once.
[[nodiscard]] std::int64_t end_of(const Store& store, std::int64_t time);
[[nodiscard]] bool good_key(std::string_view key);
// A counter's value: digits, with leading zeros allowed.
[[nodiscard]] bool parse_counter(std::string_view text, std::uint64_t& to);
void append_counter(Store& store, Entry* entry, std::uint64_t number);

}  // namespace offramp::store::memcached
