// SPDX-License-Identifier: Apache-2.0
#include "allreduce/tensor_sum.hpp"

#include <algorithm>
#include <array>

namespace offramp::allreduce {
namespace {

constexpr unsigned most_bits = 64;  // of integers, as a head says

const char* name_of_type(unsigned code) {
    static constexpr std::array names{"float32", "float64", "float16", "bfloat16", "int8",  "int16",
                                      "int32",   "int64",   "uint8",   "uint16",   "uint32"};
    return is_type(code) ? names[code - 1] : nullptr;
}

// A head's two words of a rank, for an error.
std::string described(std::uint32_t count, std::uint32_t word) {
    const char* name = name_of_type(word >> 24);
    return (name != nullptr ? name : "type " + std::to_string(word >> 24)) + "[" +
           std::to_string(count | std::uint64_t{word >> 16 & 0xFF} << 32) + "]";
}

}  // namespace

std::string TensorSum::name_of(unsigned rank, std::uint32_t sequence) {
    return "rank " + std::to_string(rank) + ": all_reduce " + std::to_string(sequence);
}

TensorSum::TensorSum(std::uint32_t sequence, const Tensor& tensor, const Shape& shape)
    : sequence_(sequence),
      tensor_(tensor),
      shape_(shape),
      form_(tensor.type, shape.ranks),
      chunks_((tensor.count + shape.width - 1) / shape.width),
      lanes_(shape.width) {
    if (form_.floating()) {
        measured_.reserve(chunks_);
        agreed_.resize(chunks_);
    } else {
        bits_ = integer_bits(tensor.type, tensor.values, tensor.count);
    }
}

std::optional<std::uint64_t> TensorSum::length(std::uint64_t complete) {
    if (complete < 1 + (data() > shape_.window ? data() - shape_.window : 0)) return std::nullopt;
    if (!repairs_) {
        repairs_.emplace();
        for (std::uint64_t chunk = 0; chunk < agreed_.size(); ++chunk)
            if (agreed_[chunk].wild) repairs_->push_back(chunk);
    }
    return 1 + data() + repairs_->size();
}

// --- what is sent ----------------------------------------------------------------------------------------------

bool TensorSum::build(std::uint64_t index, std::byte* lanes, std::uint16_t& exponent, std::uint8_t& flags) {
    exponent = 0;
    flags = 0;
    if (index == 0) {
        write_head(lanes_.data(), exponent, flags);
        to_wire(lanes_.data(), shape_.width, lanes);
    } else if (const std::uint64_t packet = index - 1; packet >= data()) {
        to_wire(classified((*repairs_)[packet - data()]).data(), shape_.width, lanes);
    } else {
        if (!write_data(packet, lanes)) return false;
        if (const std::uint64_t ahead = packet + shape_.window; form_.floating() && ahead < data()) {
            const std::uint64_t chunk = ahead / limbs_;
            measure_before(chunk + 1);
            exponent = measured_[chunk].exponent;
            flags = measured_[chunk].wild ? wild : 0;
        }
    }
    return true;
}

void TensorSum::write_head(std::int32_t* lanes, std::uint16_t& exponent, std::uint8_t& flags) {
    std::fill_n(lanes, shape_.width, 0);
    const std::uint64_t count = tensor_.count;
    const std::uint32_t word = std::uint32_t{static_cast<std::uint8_t>(tensor_.type)} << 24 |
                               static_cast<std::uint32_t>(count >> 32 & 0xFF) << 16 | (sequence_ & 0xFFFF);
    lanes[2 * shape_.rank] = static_cast<std::int32_t>(static_cast<std::uint32_t>(count));
    lanes[2 * shape_.rank + 1] = static_cast<std::int32_t>(word);
    exponent = static_cast<std::uint16_t>(bits_);
    if (!form_.floating()) return;
    const std::uint64_t first = first_chunks(form_.limbs(0));
    measure_before(first);
    exponent = 0;
    for (std::uint64_t chunk = 0; chunk < first; ++chunk) {
        exponent = std::max(exponent, measured_[chunk].exponent);
        if (measured_[chunk].wild) flags = wild;
    }
}

bool TensorSum::write_data(std::uint64_t packet, std::byte* lanes) {
    const std::uint64_t chunk = packet / limbs_;
    const std::size_t count = elements(chunk);
    std::fill(lanes + count * sizeof lanes_[0], lanes + shape_.width * sizeof lanes_[0], std::byte{});
    if (form_.floating() && agreed_[chunk].wild) classified(chunk);
    if (form_.floating() && !form_.wide())
        return quantise(values<float>(chunk), count, agreed_[chunk].exponent, form_, lanes);
    const std::int64_t* numbers = whole_numbers(chunk);
    if (numbers == nullptr) return false;
    cut(numbers, count, static_cast<unsigned>(packet % limbs_), limbs_, form_.lane_bits, lanes_.data());
    to_wire(lanes_.data(), count, lanes);
    return true;
}

// The elements of a chunk with 64 bits, kept for its other limbs; nothing where it changed meanwhile.
const std::int64_t* TensorSum::whole_numbers(std::uint64_t chunk) {
    if (chunk == whole_chunk_) return whole_.data();
    whole_.resize(shape_.width);
    whole_chunk_ = chunk;
    const std::size_t count = elements(chunk);
    if (!form_.floating()) {
        widen(tensor_.type, tensor_.values + chunk * shape_.width * form_.value_bytes(), count, whole_.data());
    } else if (!quantise(values<double>(chunk), count, agreed_[chunk].exponent, form_, whole_.data())) {
        whole_chunk_ = ~std::uint64_t{0};
        return nullptr;
    }
    return whole_.data();
}

// Counts of this rank's infinities and NaNs in a chunk: taken before the sums overwrite it.
const std::vector<std::int32_t>& TensorSum::classified(std::uint64_t chunk) {
    const auto [place, fresh] = counts_.try_emplace(chunk);
    if (fresh) {
        auto& counts = place->second;
        counts.resize(shape_.width);
        for (std::size_t i = 0; i < elements(chunk); ++i)
            counts[i] = classify(form_.wide() ? values<double>(chunk)[i] : double{values<float>(chunk)[i]});
    }
    return place->second;
}

// Finds the exponents of chunks before `stop`.
void TensorSum::measure_before(std::uint64_t stop) {
    for (std::uint64_t chunk = measured_.size(); chunk < stop; ++chunk)
        measured_.push_back(form_.wide() ? measure(values<double>(chunk), elements(chunk))
                                         : measure(values<float>(chunk), elements(chunk)));
}

// --- what comes back -------------------------------------------------------------------------------------------

bool TensorSum::accept(std::uint64_t index, const std::byte* lanes, std::uint16_t exponent, std::uint8_t flags,
                       std::string& error) {
    if (index == 0) {
        from_wire(lanes, shape_.width, lanes_.data());
        return accept_head(lanes_.data(), exponent, flags, error);
    }
    const std::uint64_t packet = index - 1;
    if (packet >= data()) {
        auto& counts = counts_[(*repairs_)[packet - data()]];
        counts.resize(shape_.width);
        from_wire(lanes, shape_.width, counts.data());
        return true;
    }
    if (const std::uint64_t ahead = packet + shape_.window;
        form_.floating() && ahead < data() && ahead % limbs_ == 0)
        agreed_[ahead / limbs_] = {exponent, (flags & wild) != 0};
    const std::uint64_t chunk = packet / limbs_;
    if (form_.floating() && !form_.wide()) {
        dequantise(lanes, elements(chunk), agreed_[chunk].exponent, form_, sums(chunk));
    } else if (limbs_ == 1) {
        from_wire(lanes, shape_.width, lanes_.data());
        store(chunk);
    } else {
        const std::uint64_t at = (chunk * limbs_ + packet % limbs_) * shape_.width;
        from_wire(lanes, shape_.width, parts_.data() + at);
        if (--missing_[chunk] == 0) store(chunk);
    }
    return true;
}

bool TensorSum::accept_head(const std::int32_t* lanes, std::uint16_t exponent, std::uint8_t flags, std::string& error) {
    const auto word = [&](unsigned rank, unsigned at) { return static_cast<std::uint32_t>(lanes[2 * rank + at]); };
    const unsigned own = shape_.rank;
    for (unsigned rank = 0; rank < shape_.ranks; ++rank) {
        if (word(rank, 0) == word(own, 0) && word(rank, 1) == word(own, 1)) continue;
        error = name() + ": rank " + std::to_string(rank) + " sums " + described(word(rank, 0), word(rank, 1)) +
              ", this rank " + described(word(own, 0), word(own, 1));
        return false;
    }
    if (!form_.floating() && exponent > most_bits) {
        error = name() + ": the head's sum says integers of " + std::to_string(exponent) + " bits";
        return false;
    }
    limbs_ = form_.limbs(exponent);
    if (form_.floating())
        std::fill_n(agreed_.begin(), first_chunks(limbs_), Agreed{exponent, (flags & wild) != 0});
    if (limbs_ > 1) {
        parts_.resize(data() * shape_.width);
        missing_.assign(chunks_, static_cast<std::uint8_t>(limbs_));
    }
    return true;
}

bool TensorSum::finish(std::string& error) {
    if (overflow_) {
        error = name() + ": the sum of element " + std::to_string(*overflow_) + " does not fit " +
              name_of_type(static_cast<unsigned>(tensor_.type));
        return false;
    }
    for (const auto& [chunk, counts] : counts_) {
        for (std::size_t i = 0; i < elements(chunk); ++i) {
            const double number = declassify(counts[i]);
            if (number == 0) continue;
            if (form_.sum_bytes() == sizeof(double))
                reinterpret_cast<double*>(sums(chunk))[i] = number;
            else
                reinterpret_cast<float*>(sums(chunk))[i] = static_cast<float>(number);
        }
    }
    return true;
}

// The sums of a chunk, whose lanes are all here, go where they belong.
void TensorSum::store(std::uint64_t chunk) {
    const std::size_t count = elements(chunk);
    const std::uint16_t exponent = form_.floating() ? agreed_[chunk].exponent : 0;
    const std::int32_t* parts = limbs_ == 1 ? lanes_.data() : parts_.data() + chunk * limbs_ * shape_.width;
    std::vector<std::int64_t>& whole = whole_;
    whole.resize(shape_.width);
    whole_chunk_ = ~std::uint64_t{0};
    if (form_.floating()) {
        join_floats(parts, shape_.width, count, limbs_, form_.lane_bits, whole.data());
        dequantise(whole.data(), count, exponent, form_, reinterpret_cast<double*>(sums(chunk)));
        return;
    }
    const std::size_t wrong =
        join_integers(tensor_.type, parts, shape_.width, count, limbs_, form_.lane_bits, whole.data());
    if (wrong < count) overflow_ = std::min(overflow_.value_or(~std::uint64_t{0}), chunk * shape_.width + wrong);
    narrow(tensor_.type, whole.data(), count, sums(chunk));
}

}  // namespace offramp::allreduce
