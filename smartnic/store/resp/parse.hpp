// SPDX-License-Identifier: Apache-2.0
// Commands of redis' protocol as clients send them: arrays of bulk strings, or lines of words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace offramp::store::resp {

constexpr std::size_t most_arguments = 1 << 16;
constexpr std::size_t most_line = 1 << 16;

struct Parsed {
    std::size_t used = 0;     // bytes of the command; 0: it is not whole
    std::size_t needs = 0;    // bytes it has at least, where it is not whole; no more than there are: it was enough for one call
    const char* error = nullptr;  // it is none: the connection cannot go on
    char got = 0;                 // what stands where something else was expected, if it is printable
};

// Parses one command after the other. A command may come in pieces: each byte is looked at once, however many there are.
class Parser {
  public:
    // Goes on with the first command of `in`, which begins with the bytes of the last call unless that one was whole.
    // `most` and `most_words` bound the whole command.
    Parsed parse(std::string_view in, std::size_t most, std::size_t most_words);
    // The words of a whole command; those of a line with quotes lie here, all others in `in`.
    [[nodiscard]] const std::vector<std::string_view>& words() const { return words_; }
    // Gives back the memory of a command that had many words.
    void trim();
    [[nodiscard]] std::size_t footprint() const {
        return spans_.capacity() * sizeof(Span) + words_.capacity() * sizeof(std::string_view) + unquoted_.capacity();
    }

  private:
    struct Span {
        std::uint32_t from, length;
    };

    Parsed parse_array(std::string_view in, std::size_t most, std::size_t most_words);
    Parsed parse_line(std::string_view in, std::size_t most);

    std::vector<Span> spans_;  // words that are whole, of a command that is not; a buffer may move meanwhile
    std::vector<std::string_view> words_;
    std::string unquoted_;
    std::size_t at_ = 0;  // bytes that are parsed
    long count_ = -1;     // words of the command; negative: not known yet
};

}  // namespace offramp::store::resp
