// SPDX-License-Identifier: Apache-2.0
#include "reduce.hpp"

#include "formats/functions.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef OFFRAMP_REDUCE_ONCE
#define OFFRAMP_REDUCE_ONCE
namespace offramp {

using formats::most_vectors;
using formats::Type;

struct Job {
    Type type;
    std::size_t vectors, count;
    const std::byte* from;  // vectors one after the other
    std::byte* to;
};

}  // namespace offramp
#endif

HWY_BEFORE_NAMESPACE();
namespace offramp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ((0+1)+(2+3))+((4+5)+(6+7)); `absent` changes no sum.
template <class Add, class Get, class V>
HWY_INLINE V tree(std::size_t vectors, V absent, const Get& get, const Add& add) {
    const auto leaf = [&](std::size_t i) HWY_ATTR { return i < vectors ? get(i) : absent; };
    const auto four = [&](std::size_t i)
                          HWY_ATTR { return add(add(leaf(i), leaf(i + 1)), add(leaf(i + 2), leaf(i + 3))); };
    return add(four(0), four(4));
}

// Runs `step(d, from, to)` on whole registers, then on what is left with padding; `from` are the vectors' addresses.
template <class T, class Step>
HWY_INLINE void blocks(const Job& job, const Step& step) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d), stride = job.count * sizeof(T);
    const std::byte* from[most_vectors];
    std::size_t at = 0;
    for (; at + lanes <= job.count; at += lanes) {
        for (std::size_t i = 0; i < job.vectors; ++i) from[i] = job.from + i * stride + at * sizeof(T);
        step(d, from, job.to + at * sizeof(T));
    }
    if (const std::size_t left = (job.count - at) * sizeof(T); left != 0) {
        alignas(64) std::byte rest[most_vectors + 1][HWY_MAX_BYTES] = {};
        for (std::size_t i = 0; i < job.vectors; ++i) {
            std::memcpy(rest[i], job.from + i * stride + at * sizeof(T), left);
            from[i] = rest[i];
        }
        step(d, from, rest[most_vectors]);
        std::memcpy(job.to + at * sizeof(T), rest[most_vectors], left);
    }
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const std::byte* from) {
    return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(from));
}

template <class D>
HWY_INLINE void store(hn::Vec<D> value, D d, std::byte* to) {
    hn::StoreU(value, d, reinterpret_cast<hn::TFromD<D>*>(to));
}

void int32(const Job& job) {
    blocks<std::uint32_t>(job, [&](auto d, const std::byte* const* from, std::byte* to) HWY_ATTR {
        auto sum = load(d, from[0]);
        for (std::size_t i = 1; i < job.vectors; ++i) sum = hn::Add(sum, load(d, from[i]));
        store(sum, d, to);
    });
}

// The exact sum of halves: upper ones signed, lower ones unsigned; then it is seen whether it fits.
void fixed(const Job& job) {
    blocks<std::int32_t>(job, [&](auto d, const std::byte* const* from, std::byte* to) HWY_ATTR {
        const auto mask = hn::Set(d, 0xFFFF);
        auto low = hn::Zero(d), high = hn::Zero(d);
        for (std::size_t i = 0; i < job.vectors; ++i) {
            const auto x = load(d, from[i]);
            low = hn::Add(low, hn::And(x, mask));
            high = hn::Add(high, hn::ShiftRight<16>(x));
        }
        high = hn::Add(high, hn::ShiftRight<16>(low));
        auto sum = hn::Or(hn::ShiftLeft<16>(high), hn::And(low, mask));
        sum = hn::IfThenElse(hn::Gt(high, hn::Set(d, 0x7FFF)), hn::Set(d, INT32_MAX), sum);
        sum = hn::IfThenElse(hn::Lt(high, hn::Set(d, -0x8000)), hn::Set(d, INT32_MIN), sum);
        store(sum, d, to);
    });
}

template <class D>
HWY_INLINE hn::Vec<D> canonical(D d, hn::Vec<D> sum) {
    const auto nan = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7FC00000u));
    return hn::IfThenElse(hn::IsNaN(sum), nan, sum);
}

void float32(const Job& job) {
    blocks<float>(job, [&](auto d, const std::byte* const* from, std::byte* to) HWY_ATTR {
        const auto get = [&](std::size_t i) HWY_ATTR { return load(d, from[i]); };
        const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
        store(canonical(d, tree(job.vectors, hn::Set(d, -0.0f), get, add)), d, to);
    });
}

// Two halves of a register's worth of 16-bit numbers, each as float32, rounded to nearest even at the end.
void bfloat16(const Job& job) {
    blocks<std::uint16_t>(job, [&](auto d16, const std::byte* const* from, std::byte* to) HWY_ATTR {
        const hn::Half<decltype(d16)> half;
        const hn::Rebind<std::uint32_t, decltype(half)> d32;
        const hn::RebindToFloat<decltype(d32)> df;
        const hn::RebindToSigned<decltype(d32)> ds;
        const std::size_t bytes = hn::Lanes(half) * 2;
        for (std::size_t at = 0; at < 2 * bytes; at += bytes) {
            const auto get = [&](std::size_t i) HWY_ATTR {
                return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(d32, load(half, from[i] + at))));
            };
            const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
            const auto sum = tree(job.vectors, hn::Set(df, -0.0f), get, add);
            const auto bits = hn::BitCast(d32, sum);
            const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
            const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7FFFu)));
            const auto nan = hn::Set(d32, 0x7FC00000u);
            const auto kept = hn::IfThenElse(hn::RebindMask(d32, hn::IsNaN(sum)), nan, rounded);
            store(hn::DemoteTo(half, hn::BitCast(ds, hn::ShiftRight<16>(kept))), half, to + at);
        }
    });
}

void run(const Job& job) {
    switch (job.type) {
        case Type::int32:
            return int32(job);
        case Type::fixed:
            return fixed(job);
        case Type::float32:
            return float32(job);
        case Type::bfloat16:
            return bfloat16(job);
    }
}

const char* name() {
    return hwy::TargetName(HWY_TARGET);
}

}  // namespace offramp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace offramp {

HWY_EXPORT(run);
HWY_EXPORT(name);

Answer reduce(Bytes message, Room answer) {
    constexpr std::size_t header = sizeof(formats::ReduceHeader);
    if (message.size() < header) return {Status::bad_length};
    const auto [type, vectors, zeros, count] = load<formats::ReduceHeader>(message.data());
    if (type > 3 || zeros != 0 || vectors < 1 || vectors > most_vectors) return {Status::bad_length};
    const std::uint64_t element = static_cast<Type>(type) == Type::bfloat16 ? 2 : 4, length = element * count;
    if (message.size() != header + vectors * length) return {Status::bad_length};
    if (answer.size() < length) return {Status::no_room};
    const Job job{static_cast<Type>(type), vectors, count, message.data() + header, answer.data()};
    HWY_DYNAMIC_DISPATCH(run)(job);
    return {Status::ok, length};
}

const char* reduce_target() {
    return HWY_DYNAMIC_DISPATCH(name)();
}

}  // namespace offramp
#endif
