// SPDX-License-Identifier: Apache-2.0
// Memory that a client shares.
#pragma once

#include <memory>
#include <string>

#include "bytes.hpp"
#include "descriptor.hpp"

namespace offramp {

class Region {
  public:
    static constexpr std::uint64_t most = std::uint64_t{1} << 36;

    // Maps a memfd of just this size; returns nothing and the reason if it is another kind of file, another size, or could
    // shrink under the agent's feet.
    static std::shared_ptr<Region> map(Descriptor fd, std::uint64_t size, std::string& error);
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    ~Region();

    // The memfd.
    [[nodiscard]] int descriptor() const { return descriptor_.get(); }
    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t length) const { return inside(offset, length, size_); }

  private:
    Region(Descriptor descriptor, std::byte* data, std::uint64_t size)
        : descriptor_(std::move(descriptor)), data_(data), size_(size) {}
    Descriptor descriptor_;
    std::byte* data_;
    std::uint64_t size_;
};

}  // namespace offramp
