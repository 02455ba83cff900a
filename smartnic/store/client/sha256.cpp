// SPDX-License-Identifier: Apache-2.0
#include "client/sha256.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace offramp::store {
namespace {

constexpr std::size_t block = 64;

constexpr std::array<std::uint32_t, 64> primes = [] {
    std::array<std::uint32_t, 64> values{};
    std::size_t count = 0;
    for (std::uint32_t number = 2; count < values.size(); ++number) {
        bool prime = true;
        for (std::size_t i = 0; i < count && prime; ++i) prime = number % values[i] != 0;
        if (prime) values[count++] = number;
    }
    return values;
}();

// The first 32 bits behind the point of the n-th root of a number, n being 2 or 3: by bisection in integers.
constexpr std::uint32_t root_bits(std::uint32_t number, int n) {
    unsigned __int128 least = 0, beyond = static_cast<unsigned __int128>(1) << 37;
    while (beyond - least > 1) {
        const unsigned __int128 middle = (least + beyond) / 2;
        // middle^n against number * 2^(32 n), n = 3 in two steps so that nothing overflows 128 bits.
        const unsigned __int128 square = middle * middle;
        const bool below = n == 2 ? square <= static_cast<unsigned __int128>(number) << 64
                                  : square <= (static_cast<unsigned __int128>(number) << 96) / (middle == 0 ? 1 : middle);
        (below ? least : beyond) = middle;
    }
    return static_cast<std::uint32_t>(least);
}

constexpr std::array<std::uint32_t, 64> constants = [] {
    std::array<std::uint32_t, 64> values{};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = root_bits(primes[i], 3);
    return values;
}();

using State = std::array<std::uint32_t, 8>;

void compress(State& state, const unsigned char* at) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) {
        std::memcpy(&w[i], at + 4 * i, 4);
        w[i] = __builtin_bswap32(w[i]);
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t low = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        const std::uint32_t high = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i];
        const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const State added = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

}  // namespace

Digest sha256(std::string_view text) {
    State state;
    for (std::size_t i = 0; i < 8; ++i) state[i] = root_bits(primes[i], 2);
    std::string padded(text);
    padded.push_back('\x80');
    padded.append((block + 56 - padded.size() % block) % block, '\0');
    const std::uint64_t bits = __builtin_bswap64(std::uint64_t{text.size()} * 8);
    padded.append(reinterpret_cast<const char*>(&bits), 8);
    for (std::size_t at = 0; at < padded.size(); at += block) compress(state, reinterpret_cast<const unsigned char*>(padded.data()) + at);
    Digest digest;
    for (std::size_t i = 0; i < 8; ++i) {
        const std::uint32_t word = __builtin_bswap32(state[i]);
        std::memcpy(&digest[4 * i], &word, 4);
    }
    return digest;
}

Digest hmac_sha256(std::string_view secret, std::string_view text) {
    std::string key(secret);
    if (key.size() > block) {
        const Digest digest = sha256(key);
        key.assign(reinterpret_cast<const char*>(digest.data()), digest.size());
    }
    key.resize(block, '\0');
    std::string inner = key, outer = key;
    for (char& each : inner) each = static_cast<char>(each ^ 0x36);
    for (char& each : outer) each = static_cast<char>(each ^ 0x5c);
    const Digest digest = sha256(inner.append(text));
    return sha256(outer.append(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

}  // namespace offramp::store
