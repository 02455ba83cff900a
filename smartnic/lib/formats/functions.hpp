// SPDX-License-Identifier: Apache-2.0
// Messages and tables of the offloaded functions (offramp.leo.functions). Written by ci/formats: change it there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace offramp::formats {

// ebs.lookup: bytes of a block, blocks of a segment.
inline constexpr std::uint64_t block = 4096;
inline constexpr std::uint64_t segment = 512;

enum class Outcome : std::uint32_t {
    found = 0,
    no_volume = 1,
    out_of_range = 2,
    split = 3,
    unmapped = 4,
    wait = 5,
};

// A read of `blocks` from `start`.
struct Request {
    std::uint32_t volume, blocks;
    std::uint64_t start, tick;
};
static_assert(sizeof(Request) == 24);

// Where the blocks are.
struct Place {
    std::uint32_t outcome, server;
    std::uint64_t address;
};
static_assert(sizeof(Place) == 16);

// A line of the table of volumes; `first` is an entry of the block table, `tick` that of the last read.
struct Volume {
    std::uint32_t first, spare;
    std::uint64_t blocks, rate, burst, tokens, tick, spares[2];
};
static_assert(sizeof(Volume) == 64);

// kvs.lookup: bytes of a bucket and of a slot in it.
inline constexpr std::uint64_t line = 64;
inline constexpr std::uint64_t slot = 16;

// reduce.
inline constexpr std::uint32_t most_vectors = 8;

enum class Type : std::uint8_t {
    int32 = 0,
    fixed = 1,
    float32 = 2,
    bfloat16 = 3,
};

// The vectors follow.
struct ReduceHeader {
    std::uint8_t type, vectors;
    std::uint16_t zeros;
    std::uint32_t count;
};
static_assert(sizeof(ReduceHeader) == 8);

// Numbers of the rows (8 bytes each) and their values follow.
struct QuantiseHeader {
    std::uint8_t bits, compact;
    std::uint16_t zeros;
    std::uint32_t rows, columns, more_zeros;
    std::uint64_t seed;
};
static_assert(sizeof(QuantiseHeader) == 24);

// Codes, least and greatest values of the rows follow.
struct DequantiseHeader {
    std::uint8_t bits, zero;
    std::uint16_t zeros;
    std::uint32_t rows, columns, more_zeros;
};
static_assert(sizeof(DequantiseHeader) == 16);

// Numbers of rows and of columns follow, 4 bytes each.
struct SelectHeader {
    std::uint32_t rows, columns;
};
static_assert(sizeof(SelectHeader) == 8);

}  // namespace offramp::formats
