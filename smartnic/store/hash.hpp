// SPDX-License-Identifier: Apache-2.0
// SipHash-1-3 (Aumasson, Bernstein 2012): nobody who does not know the seed can make keys collide.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace offramp::store {

struct Seed {
    std::uint64_t first = 0, second = 0;
};

class SipHash {
  public:
    [[nodiscard]] static std::uint64_t of(const Seed& seed, std::string_view text) {
        SipHash state(seed);
        const char* at = text.data();
        std::size_t left = text.size();
        for (; left >= 8; at += 8, left -= 8) {
            std::uint64_t word;
            std::memcpy(&word, at, 8);
            state.take(word);
        }
        std::uint64_t last = 0;
        std::memcpy(&last, at, left);
        state.take(last | static_cast<std::uint64_t>(text.size()) << 56);
        state.c_ ^= 0xFF;
        for (int i = 0; i < 3; ++i) state.round();
        return state.a_ ^ state.b_ ^ state.c_ ^ state.d_;
    }

  private:
    explicit SipHash(const Seed& seed)
        : a_(seed.first ^ 0x736f6d6570736575), b_(seed.second ^ 0x646f72616e646f6d),
          c_(seed.first ^ 0x6c7967656e657261), d_(seed.second ^ 0x7465646279746573) {}

    void take(std::uint64_t word) {
        d_ ^= word;
        round();
        a_ ^= word;
    }
    void round() {
        a_ += b_, b_ = std::rotl(b_, 13) ^ a_, a_ = std::rotl(a_, 32);
        c_ += d_, d_ = std::rotl(d_, 16) ^ c_;
        a_ += d_, d_ = std::rotl(d_, 21) ^ a_;
        c_ += b_, b_ = std::rotl(b_, 17) ^ c_, c_ = std::rotl(c_, 32);
    }

    std::uint64_t a_, b_, c_, d_;
};

// For maps by key that are looked up without a copy of the key.
struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
        static const Seed seed = [] {
            std::random_device random;
            return Seed{std::uint64_t{random()} << 32 | random(), std::uint64_t{random()} << 32 | random()};
        }();
        return SipHash::of(seed, key);
    }
};

}  // namespace offramp::store
