// SPDX-License-Identifier: Apache-2.0
// One all-reduce of one rank as a sequence of chunks (offramp.allreduce.tensor_sum): a head, the tensor, and repairs.
//
// The head tells all ranks what each of them sums, and agrees on the first exponents. Every chunk of the tensor agrees
// on the exponent of the one that comes a window later. Infinities and NaNs, which have no exponent, go in repairs at
// the end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/numbers.hpp"

namespace offramp::allreduce {

inline constexpr std::uint8_t wild = 1;  // flag: a rank has infinities or NaNs in the chunk that comes a window later

// A tensor to sum; both arrays stay in place until the end, and may be the same.
struct Tensor {
    Type type;
    std::uint64_t count;
    const std::byte* values;  // as `Format::value_bytes` says
    std::byte* sums;          // as `Format::sum_bytes` says
};

// Settings of a job, for all its tensors.
struct Shape {
    unsigned rank, ranks;
    std::size_t width;     // lanes of a chunk
    std::uint64_t window;  // chunks that may be on their way; an exponent is agreed that far ahead
};

class TensorSum {
  public:
    TensorSum(std::uint32_t sequence, const Tensor& tensor, const Shape& shape);

    // Prefix of errors.
    [[nodiscard]] std::string name() const { return name_of(shape_.rank, sequence_); }
    [[nodiscard]] static std::string name_of(unsigned rank, std::uint32_t sequence);
    [[nodiscard]] std::uint32_t sequence() const { return sequence_; }
    // Packets of the tensor; known once the head's sum is here.
    [[nodiscard]] std::uint64_t data() const { return chunks_ * limbs_; }
    // All chunks with head and repairs, where the first `complete` sums are here; nothing while repairs are not known.
    [[nodiscard]] std::optional<std::uint64_t> length(std::uint64_t complete);

    // Writes the lanes of chunk `index`, 0 being the head; what the packet agrees on goes to `exponent` and `flags`. False
    // where the tensor changed since its exponents were agreed.
    [[nodiscard]] bool build(std::uint64_t index, std::byte* lanes, std::uint16_t& exponent, std::uint8_t& flags);
    // Takes the sum of a chunk, each once, the head before all others; returns false and the reason if the ranks sum different
    // tensors.
    [[nodiscard]] bool accept(std::uint64_t index, const std::byte* lanes, std::uint16_t exponent, std::uint8_t flags,
                              std::string& error);
    // Finishes once all sums are here; returns false and the reason if the type cannot hold a sum.
    [[nodiscard]] bool finish(std::string& error);

  private:
    void write_head(std::int32_t* lanes, std::uint16_t& exponent, std::uint8_t& flags);
    bool accept_head(const std::int32_t* lanes, std::uint16_t exponent, std::uint8_t flags, std::string& error);
    bool write_data(std::uint64_t packet, std::byte* lanes);
    const std::int64_t* whole_numbers(std::uint64_t chunk);
    void store(std::uint64_t chunk);
    void measure_before(std::uint64_t stop);
    const std::vector<std::int32_t>& classified(std::uint64_t chunk);

    // Chunks whose exponent the head agrees on.
    [[nodiscard]] std::uint64_t first_chunks(unsigned limbs) const {
        return std::min<std::uint64_t>(chunks_, (shape_.window + limbs - 1) / limbs);
    }
    // Elements of a chunk: all lanes but for the last chunk.
    [[nodiscard]] std::size_t elements(std::uint64_t chunk) const {
        return static_cast<std::size_t>(std::min<std::uint64_t>(shape_.width, tensor_.count - chunk * shape_.width));
    }
    template <class T>
    [[nodiscard]] const T* values(std::uint64_t chunk) const {
        return reinterpret_cast<const T*>(tensor_.values) + chunk * shape_.width;
    }
    [[nodiscard]] std::byte* sums(std::uint64_t chunk) const {
        return tensor_.sums + chunk * shape_.width * form_.sum_bytes();
    }

    struct Agreed {
        std::uint16_t exponent = 0;
        bool wild = false;
    };

    std::uint32_t sequence_;
    Tensor tensor_;
    Shape shape_;
    Format form_;
    std::uint64_t chunks_;
    unsigned bits_ = 0, limbs_ = 0;
    std::vector<Measure> measured_;  // of the first chunks
    std::vector<Agreed> agreed_;
    std::optional<std::vector<std::uint64_t>> repairs_;           // chunks
    std::map<std::uint64_t, std::vector<std::int32_t>> counts_;   // of infinities and NaNs, by chunk: own, then summed
    std::vector<std::int32_t> lanes_, parts_;                     // of a packet; of all limbs, where they are several
    std::vector<std::uint8_t> missing_;                           // limbs of each chunk
    std::vector<std::int64_t> whole_;                             // the integers of `whole_chunk_`
    std::uint64_t whole_chunk_ = ~std::uint64_t{0};
    std::optional<std::uint64_t> overflow_;
};

}  // namespace offramp::allreduce
