// SPDX-License-Identifier: Apache-2.0
// Memory that a client shares.
#pragma once

#include <memory>
#include <string>

#include "bytes.hpp"

namespace offramp {

class Region {
  public:
    static constexpr std::uint64_t most = std::uint64_t{1} << 36;

    // Maps a memfd of just this size; nothing, and why, where it is another kind of file, another size, or could
    // shrink under the agent's feet.
    static std::shared_ptr<Region> map(int fd, std::uint64_t size, std::string& why);
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    ~Region();

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t length) const { return inside(offset, length, size_); }

  private:
    Region(std::byte* data, std::uint64_t size) : data_(data), size_(size) {}
    std::byte* data_;
    std::uint64_t size_;
};

}  // namespace offramp
