// SPDX-License-Identifier: Apache-2.0
// What is to be sent to a client: bytes of its own, and between them values of the store, which are sent from where they lie.
//
// Positions count the bytes since the connection began, so that they stay good while the front is sent.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "free.hpp"
#include "pins.hpp"

namespace offramp::store {

class Answer {
  public:
    Answer& append(std::string_view bytes) {
        text_.append(bytes);
        return *this;
    }
    void push_back(char byte) { text_.push_back(byte); }
    // Appends a part of an entry's value. It is not copied where it is long.
    void append(Pins& pins, const Entry* entry, std::string_view part) {
        if (part.size() < Pins::least) return void(text_.append(part));
        values_.push_back({gone_ + text_.size(), part, Pin(pins, entry)});
        all_values_ += part.size();
    }
    // Makes room for so many bytes more.
    void reserve(std::size_t bytes) { text_.reserve(text_.size() + bytes); }

    // Where the next byte goes.
    [[nodiscard]] std::uint64_t position() const { return gone_ + text_.size() + all_values_; }
    // Where the next byte comes from that is sent.
    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] std::size_t waiting() const { return position() - sent_; }
    [[nodiscard]] bool empty() const { return waiting() == 0; }
    // Takes back what was appended since a position, of which nothing is sent.
    void cut(std::uint64_t position) {
        for (; first_ < values_.size(); values_.pop_back()) {
            const std::uint64_t before = all_values_ - values_.back().part.size();
            if (values_.back().place + before < position) break;
            all_values_ = before;
        }
        text_.resize(position - all_values_ - gone_);
    }

    // Whether no value waits; all that waits is `text` then.
    [[nodiscard]] bool plain() const { return first_ == values_.size(); }
    [[nodiscard]] std::string_view text() const { return std::string_view(text_).substr(taken_); }
    // The next pieces that are to be sent, of `most` bytes in all; how many pieces.
    std::size_t gather(std::span<iovec> pieces, std::size_t most) const {
        std::size_t count = 0, from = taken_, value = first_, skipped = in_value_;
        while (count < pieces.size() && most > 0) {
            const bool at_value = value < values_.size() && values_[value].place == gone_ + from;
            std::string_view piece = at_value ? values_[value].part.substr(skipped) : std::string_view(text_).substr(from, text_end(value) - from);
            if (piece.empty()) break;
            if (at_value) ++value, skipped = 0;
            else from += piece.size();
            piece = piece.substr(0, most);
            most -= piece.size();
            pieces[count++] = {const_cast<char*>(piece.data()), piece.size()};
        }
        return count;
    }
    // So many bytes are sent.
    void advance(std::size_t bytes) {
        sent_ += bytes;
        while (bytes > 0) {
            const bool at_value = first_ < values_.size() && values_[first_].place == gone_ + taken_;
            std::size_t& done = at_value ? in_value_ : taken_;
            const std::size_t some = std::min(bytes, (at_value ? values_[first_].part.size() : text_end(first_)) - done);
            done += some;
            bytes -= some;
            if (at_value && done == values_[first_].part.size()) forget_first();
        }
        const std::size_t rest = text_.size() - taken_;  // which is moved
        if (rest == 0 || (taken_ > std::max(kept, rest) && rest <= most_moved) || taken_ > most_taken) forget_text();
    }
    // Gives up what waits: nobody will read it.
    void release() {
        sent_ = position();
        values_.clear();
        first_ = in_value_ = 0;
        taken_ = text_.size();
        forget_text();
    }

    // Bytes of memory that it takes beside values, and that with the values that wait.
    [[nodiscard]] std::size_t footprint() const { return text_.size() + (values_.size() - first_) * sizeof_value; }
    [[nodiscard]] std::size_t extent() const { return waiting() + footprint(); }

  private:
    static constexpr std::size_t kept = std::size_t{16} << 10;        // of memory, or of bytes that are sent
    static constexpr std::size_t most_moved = std::size_t{1} << 20;   // bytes, so that nobody waits long
    static constexpr std::size_t most_taken = std::size_t{64} << 20;  // before bytes are moved all the same
    static constexpr std::size_t sizeof_value = 128;            // with what its pin takes

    struct Value {
        std::uint64_t place;  // bytes of text before it since the connection began
        std::string_view part;
        Pin pin;
    };

    [[nodiscard]] std::size_t text_end(std::size_t value) const { return value < values_.size() ? values_[value].place - gone_ : text_.size(); }
    void forget_first() {
        values_[first_++].pin.release();
        in_value_ = 0;
        if (first_ == values_.size()) free_memory(values_), first_ = 0;
    }
    void forget_text() {
        text_.erase(0, taken_);
        gone_ += taken_;
        taken_ = 0;
        if (text_.capacity() > kept && text_.size() < text_.capacity() / 4) text_.shrink_to_fit();
    }

    std::string text_;
    std::vector<Value> values_;
    std::size_t first_ = 0, in_value_ = 0;  // value that is sent next, bytes of it that are sent
    std::size_t taken_ = 0;                 // bytes of `text_` that are sent
    std::uint64_t gone_ = 0, all_values_ = 0, sent_ = 0;  // bytes of text before `text_`; of all values so far; in all
};

}  // namespace offramp::store
