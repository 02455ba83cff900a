// SPDX-License-Identifier: Apache-2.0
// Answers of redis' protocol, in version 2 or 3 of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "answer.hpp"
#include "numbers.hpp"

namespace offramp::store::resp {

class Reply {
  public:
    Reply(Answer& to, int protocol) : to_(to), protocol_(protocol) {}

    void ok() { to_.append("+OK\r\n"); }
    void simple(std::string_view text) { line('+', text); }
    void error(std::string_view text) { line('-', text); }
    void integer(std::int64_t number) { header(':', number); }
    void bulk(std::string_view text) {
        header('$', text.size());
        to_.append(text).append("\r\n");
    }
    // A part of an entry's value, which is not copied where it is long.
    void bulk(Pins& pins, const Entry* entry, std::string_view part) {
        header('$', part.size());
        to_.append(pins, entry, part);
        to_.append("\r\n");
    }
    void null() { to_.append(protocol_ == 3 ? "_\r\n" : "$-1\r\n"); }
    void null_array() { to_.append(protocol_ == 3 ? "_\r\n" : "*-1\r\n"); }
    void array(std::size_t count) { header('*', count); }
    // Push messages, sent only to connections that accept them.
    void push(std::size_t count) { header('>', count); }
    // `count` pairs follow: a map, where the protocol has maps.
    void map(std::size_t count) { protocol_ == 3 ? header('%', count) : header('*', 2 * count); }
    void set(std::size_t count) { header(protocol_ == 3 ? '~' : '*', count); }
    // Text for people.
    void verbatim(std::string_view text) {
        if (protocol_ != 3) return bulk(text);
        header('=', text.size() + 4);
        to_.append("txt:").append(text).append("\r\n");
    }
    void protocol(int version) { protocol_ = version; }
    [[nodiscard]] int protocol() const { return protocol_; }
    [[nodiscard]] std::size_t waiting() const { return to_.waiting(); }
    [[nodiscard]] std::uint64_t position() const { return to_.position(); }
    // Takes back what was answered since a position.
    void cut(std::uint64_t position) { to_.cut(position); }
    // Makes room for a long answer, so that it is not copied while it grows.
    void reserve(std::size_t bytes) { to_.reserve(bytes); }

  private:
    void line(char type, std::string_view text) {
        to_.push_back(type);
        to_.append(text).append("\r\n");
    }
    template <typename T>
    void header(char type, T number) {
        to_.push_back(type);
        append_number(to_, number);
        to_.append("\r\n");
    }

    Answer& to_;
    int protocol_;
};

}  // namespace offramp::store::resp
