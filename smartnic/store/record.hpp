// SPDX-License-Identifier: Apache-2.0
// Records of logs and snapshots: changes that happen together, with a checksum over all of them.
//
//   record: length of the body (4), CRC-32C of what follows (4), number (8), number known to be on disk then (8), body
//   change: kind (4), flags or offset (4), expiry in ms (8), lengths of key and value (4 each), key, value
//
// All numbers are little-endian. Numbers of records rise by one. The second number tells a torn tail from damage: a record
// that was on disk when a later one was written cannot have been torn.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace offramp::store {

enum class Kind : std::uint32_t { set = 1, erase = 2, splice = 3, expire = 4, clear = 5, end = 6 };

struct Change {
    Kind kind;
    std::uint32_t flags;  // of a splice: the offset
    std::int64_t expires_ms;
    std::string_view key, value;
};

constexpr std::size_t record_header = 24, change_header = 24;
constexpr std::size_t most_record = std::size_t{1} << 28;

// Builds records at the end of a buffer.
class RecordWriter {
  public:
    explicit RecordWriter(std::string& to) : to_(to) {}
    void add(const Change& change);
    [[nodiscard]] bool open() const { return open_; }
    // Ends the record; true if there was one.
    bool seal(std::uint64_t number, std::uint64_t on_disk);

  private:
    std::string& to_;
    std::size_t start_ = 0;
    bool open_ = false;
};

// Bytes of the record at the beginning of what has come; 0: its header is not whole.
[[nodiscard]] std::size_t record_bytes(std::string_view from);

// Reads records from memory.
class RecordReader {
  public:
    explicit RecordReader(std::string_view all) : all_(all) {}
    // Goes to the next record, which must have this number; false at the end or where there is none.
    bool next(std::uint64_t number);
    // Goes to the next change of the record; false behind the last one.
    bool change(Change& to);
    // How far whole records go.
    [[nodiscard]] std::size_t good() const { return good_; }
    [[nodiscard]] bool at_end() const { return good_ == all_.size(); }
    // Where a record stands that was written when number `lost` was on disk, behind what is good; 0: there is none.
    [[nodiscard]] std::size_t proof_of_damage(std::uint64_t lost) const;

  private:
    struct Header {
        std::uint64_t number, on_disk;
        std::string_view body;
    };
    bool parse(std::size_t at, std::uint64_t least, Header& to) const;

    std::string_view all_, body_;
    std::size_t good_ = 0;
};

}  // namespace offramp::store
