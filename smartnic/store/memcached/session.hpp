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

    std::size_t consume(std::string_view in, std::string& out) override;
    [[nodiscard]] ClientFacts facts() const override {
        ClientFacts facts;
        facts.command = binary_ ? "memcached|binary" : "memcached|text";
        return facts;
    }
    void release() override { free_memory(words_), free_memory(scratch_), free_memory(key_); }
    [[nodiscard]] std::size_t footprint() const override {
        return words_.capacity() * sizeof(std::string_view) + scratch_.capacity() + key_.capacity();
    }

  private:
    // A command at the beginning of `in`; the bytes it takes, 0 where it is not whole.
    std::size_t command(std::string_view in, std::string& out);
    // The same for a command of the binary protocol.
    std::size_t binary_command(std::string_view in, std::string& out);
    void execute_line(std::string_view data, bool stores, bool meta_store, std::string& out);
    // The data block behind a line of `line` bytes: those taken, 0 where it is not whole. `data` is empty-handed on a fault.
    std::size_t block(std::string_view in, std::size_t line, std::string_view length, std::string_view& data, bool& good,
                      std::string& out);
    void prove(std::string_view data, std::string& out);
    // Why a value may not change; nullptr where it may. `SERVER_ERROR` goes before it.
    [[nodiscard]] const char* refusal(std::size_t bytes, bool grows);
    [[nodiscard]] bool may_change(std::size_t bytes, bool grows, std::string& out);
    // A value that could not be replaced is removed: nobody may take it for the new one.
    void drop_old(std::string_view key);
    void seal();
    // Bytes of a key's value.
    [[nodiscard]] std::size_t length_of(std::string_view key) const {
        const Entry* entry = service_.store.peek(key);
        return entry == nullptr ? 0 : entry->value_length;
    }

    void retrieve(std::string& out, std::size_t first, bool unique, bool touches);
    void store_value(std::string_view data, std::string& out);
    void remove(std::string& out);
    void count(std::string& out, bool up);
    void touch(std::string& out);
    void flush(std::string& out);
    void flush_after(std::int64_t delay_s);
    void stats(std::string& out);
    void each_stat(const std::function<void(std::string_view name, std::string_view value)>& see) const;
    void simple(std::string& out);

    void meta_get(std::string& out);
    void meta_set(std::string_view data, std::string& out);
    void meta_delete(std::string& out);
    void meta_count(std::string& out);
    void meta_debug(std::string& out);

    void execute(const BinaryRequest& request, std::string& out);
    [[nodiscard]] bool binary_may_change(const BinaryRequest& request, std::size_t bytes, bool grows, std::string& out);
    void binary_get(const BinaryRequest& request, std::string& out);
    void binary_store(const BinaryRequest& request, std::string& out);
    void binary_join(const BinaryRequest& request, std::string& out);
    void binary_remove(const BinaryRequest& request, std::string& out);
    void binary_count(const BinaryRequest& request, std::string& out);
    void binary_stats(const BinaryRequest& request, std::string& out);

    Service& service_;
    Words words_;
    std::string scratch_, key_;
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
