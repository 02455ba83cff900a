// SPDX-License-Identifier: Apache-2.0
// In place of XRT's: a buffer whose bytes reach the card by sync alone. See xrt_device.h.
#pragma once

#include "xrt_device.h"

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE, XCL_BO_SYNC_BO_FROM_DEVICE };

namespace xrt {

class bo {
  public:
    bo(device& card, std::size_t bytes, int group) : card_(&card), start_(card.used), here_(bytes) {
        constexpr std::size_t alignment = 4096;
        if (bytes == 0 || group != 0 || start_ + bytes > card.size) throw std::runtime_error("bo: no memory");
        card.used = (start_ + bytes + alignment - 1) / alignment * alignment;
    }

    template <typename T>
    T map() {
        return reinterpret_cast<T>(here_.data());
    }
    [[nodiscard]] std::uint64_t address() const { return 0x1000'0000 + start_; }

    void sync(xclBOSyncDirection direction, std::size_t bytes, std::size_t offset) {
        if (bytes == 0 || offset + bytes > here_.size()) throw std::runtime_error("bo: invalid offset and size");
        char *here = here_.data() + offset, *there = card_->content + start_ + offset;
        if (direction == XCL_BO_SYNC_BO_TO_DEVICE)
            std::memcpy(there, here, bytes);
        else
            std::memcpy(here, there, bytes);
    }

  private:
    device* card_;
    std::size_t start_;
    std::vector<char> here_;
};

}  // namespace xrt
