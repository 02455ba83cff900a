// SPDX-License-Identifier: Apache-2.0
// How a request is written, and where its answer ends, in redis' and in memcached's protocol.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "client/answers.hpp"
#include "numbers.hpp"

namespace offramp::store::load {

struct Seen {
    std::size_t used = 0;    // bytes; 0: the answer is not whole
    bool wrong = false;      // it is an error, or not what was asked for
    std::size_t values = 0;  // of a scan
};

inline std::string key_of(std::uint64_t record) {
    char text[32];
    std::snprintf(text, sizeof text, "user%012llu", static_cast<unsigned long long>(record));
    return text;
}

// A value begins with its key, so that another key's shows.
inline void append_value(std::string& to, std::string_view key, std::size_t length) {
    const std::size_t from = to.size();
    to.append(key.substr(0, length));
    to.resize(from + length, 'x');
}

class Dialect {
  public:
    Dialect(bool memcached, std::size_t value_bytes) : memcached_(memcached), value_bytes_(value_bytes) {}

    void get(std::string& to, std::uint64_t first, unsigned count) const {
        if (memcached_) {
            to.append("get");
            for (unsigned i = 0; i < count; ++i) to.append(" ").append(key_of(first + i));
            to.append("\r\n");
        } else {
            header('*', to, count + 1);
            to.append(count == 1 ? "$3\r\nGET\r\n" : "$4\r\nMGET\r\n");
            for (unsigned i = 0; i < count; ++i) bulk(to, key_of(first + i));
        }
    }
    void set(std::string& to, std::uint64_t record) const {
        const std::string key = key_of(record);
        if (memcached_) {
            to.append("set ").append(key).append(" 0 0 ");
            append_number(to, value_bytes_);
            to.append("\r\n");
        } else {
            to.append("*3\r\n$3\r\nSET\r\n");
            bulk(to, key);
            header('$', to, value_bytes_);
        }
        append_value(to, key, value_bytes_);
        to.append("\r\n");
    }

    // `count`: values asked for, 0 where something was stored. Keys that are missing are wrong if `all`.
    [[nodiscard]] Seen read(std::string_view in, std::uint64_t first, unsigned count, bool all) const {
        return memcached_ ? read_memcached(in, first, count, all) : read_resp(in, first, count, all);
    }

  private:
    static void header(char type, std::string& to, std::size_t number) {
        to.push_back(type);
        append_number(to, number);
        to.append("\r\n");
    }
    static void bulk(std::string& to, std::string_view text) {
        header('$', to, text.size());
        to.append(text).append("\r\n");
    }
    [[nodiscard]] bool right(std::string_view value, std::uint64_t record) const {
        const std::string key = key_of(record);
        return value.size() == value_bytes_ && value.starts_with(std::string_view(key).substr(0, value_bytes_));
    }

    [[nodiscard]] Seen read_resp(std::string_view in, std::uint64_t first, unsigned count, bool all) const {
        Answer answer;
        const std::size_t used = parse_answer(in, answer);
        if (used == not_whole || used == no_answer) return {used == no_answer ? in.size() : 0, used == no_answer, 0};
        if (count == 0) return {used, answer.type != Answer::text, 0};
        if (count == 1) return {used, answer.type == Answer::value ? !right(answer.content, first) : all, 1};
        Seen seen{used, answer.type != Answer::array, 0};
        std::size_t at = in.find('\n') + 1;
        for (unsigned i = 0; i < count && !seen.wrong; ++i) {
            at += parse_answer(in.substr(at), answer);
            if (answer.type == Answer::value)
                seen.wrong = !right(answer.content, first + i), ++seen.values;
            else
                seen.wrong = all;
        }
        return seen;
    }

    [[nodiscard]] Seen read_memcached(std::string_view in, std::uint64_t first, unsigned count, bool all) const {
        Seen seen;
        for (std::size_t at = 0;;) {
            const std::size_t end = in.find("\r\n", at);
            if (end == std::string_view::npos) return {};
            std::string_view line = in.substr(at, end - at);
            at = end + 2;
            if (count == 0 || !line.starts_with("VALUE ")) {
                seen.used = at;
                seen.wrong |= line != (count == 0 ? "STORED" : "END") || (all && seen.values != count);
                return seen;
            }
            (void)next_word(line);
            const std::string_view key = next_word(line);
            (void)next_word(line);
            std::size_t length = 0;
            if (!parse_number(next_word(line), length)) return {at, true, 0};
            if (in.size() < at + length + 2) return {};
            const std::string_view value = in.substr(at, length);
            seen.wrong |= value.size() != value_bytes_ || !value.starts_with(key.substr(0, value_bytes_)) || (count == 1 && key != key_of(first));
            ++seen.values;
            at += length + 2;
        }
    }

    bool memcached_;
    std::size_t value_bytes_;
};

}  // namespace offramp::store::load
