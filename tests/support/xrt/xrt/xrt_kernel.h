// SPDX-License-Identifier: Apache-2.0
// In place of XRT's: kernels, and runs of them by the registers that UG1393 says (ap_ctrl_hs). See xrt_device.h.
#pragma once

#include <chrono>
#include <thread>

#include "xrt_bo.h"

enum ert_cmd_state { ERT_CMD_STATE_NEW = 1, ERT_CMD_STATE_COMPLETED = 4, ERT_CMD_STATE_TIMEOUT = 9 };

namespace xrt {

class kernel {
  public:
    kernel(device& card, const uuid&, const std::string& name) : card(&card) {
        const auto entry = card.kernels.find(name);
        if (entry == card.kernels.end()) throw std::runtime_error("No such kernel '" + name + "'");
        arguments = entry->second;
    }
    [[nodiscard]] int group_id(int index) const {
        if (!arguments.at(static_cast<std::size_t>(index)).buffer) throw std::runtime_error("no argument of a buffer");
        return 0;
    }

    device* card;
    std::map<std::size_t, argument> arguments;
};

class run {
  public:
    explicit run(const kernel& of) : kernel_(&of) {}

    void set_arg(int index, std::uint32_t value) { set(index, value, false); }
    void set_arg(int index, const bo& value) { set(index, value.address(), true); }
    void start() { kernel_->card->access('W', address(), 1); }
    [[nodiscard]] ert_cmd_state wait(const std::chrono::milliseconds& timeout) const {
        const auto until = std::chrono::steady_clock::now() + timeout;
        while ((kernel_->card->access('R', address()) & 2) == 0) {
            if (std::chrono::steady_clock::now() > until) return ERT_CMD_STATE_TIMEOUT;
            std::this_thread::sleep_for(std::chrono::microseconds(500));
        }
        return ERT_CMD_STATE_COMPLETED;
    }

  private:
    [[nodiscard]] std::uint64_t address() const { return kernel_->arguments.at(0).address; }
    void set(int index, std::uint64_t value, bool buffer) {
        const argument& one = kernel_->arguments.at(static_cast<std::size_t>(index));
        if (one.buffer != buffer) throw std::runtime_error("an argument of another kind");
        for (std::uint32_t at = 0; at < one.bits / 8; at += 4)
            kernel_->card->access('W', address() + one.offset + at, static_cast<std::uint32_t>(value >> 8 * at));
    }

    const kernel* kernel_;
};

}  // namespace xrt
