// SPDX-License-Identifier: Apache-2.0
// An engine on an Alveo card by XRT's C++ interface: every access is a run of the engine's kernel, of which
// fpga/rtl/vitis/kernel_shell.sv says what it does and what it leaves behind.
#pragma once

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace offramp {

class Engine {
  public:
    static constexpr std::size_t most = 1 << 18;  // bytes of a packet

    // The kernel NAME_kernel of what is loaded into the card.
    Engine(xrt::device& card, const xrt::uuid& loaded, const std::string& name)
        : card_(card),
          name_(name),
          kernel_(card, loaded, name + "_kernel"),
          to_(card, most, kernel_.group_id(to)),
          back_(card, most + line, kernel_.group_id(back)) {
        beat_ = run(reads, 0, 0, 0).beat;
    }

    // Bytes of a beat of its streams, to which packets and answers are padded.
    [[nodiscard]] std::size_t beat() const { return beat_; }
    // Cycles of the last packet, until its answer was in memory.
    [[nodiscard]] std::uint32_t cycles() const { return cycles_; }

    std::uint32_t read(std::size_t offset) { return run(reads, offset, 0, 0).value; }
    void write(std::size_t offset, std::uint32_t value) { run(writes, offset, value, 0); }

    // Memory that the engine's own ports reach.
    xrt::bo allocate(std::size_t bytes) { return {card_, bytes, kernel_.group_id(tables)}; }

    // The answer to a packet, of at most `room` bytes.
    std::vector<std::byte> exchange(const std::vector<std::byte>& packet, std::size_t room, std::uint32_t way = 0) {
        room = (room + beat_ - 1) / beat_ * beat_;
        if (packet.size() > most || room > most) throw std::runtime_error(name_ + ": a packet beyond the buffers");
        if (!packet.empty()) {
            std::memcpy(to_.map<std::byte*>(), packet.data(), packet.size());
            to_.sync(XCL_BO_SYNC_BO_TO_DEVICE, packet.size(), 0);
        }
        const Result result = run(exchanges, way, static_cast<std::uint32_t>(packet.size()), static_cast<std::uint32_t>(room));
        if (result.response != 0 || result.value > room)
            throw std::runtime_error(name_ + ": response " + std::to_string(result.response) + " of memory, an answer of " +
                                     std::to_string(result.value) + " bytes");
        cycles_ = result.cycles;
        back_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, beat_ + result.value, 0);
        const auto* answer = back_.map<std::byte*>() + beat_;
        return {answer, answer + result.value};
    }

  private:
    enum Operation : std::uint32_t { exchanges, writes, reads };
    enum Argument { operation, place, value, room_of, to, back, tables };
    struct Result {
        std::uint32_t value, response, cycles, beat;
    };
    static constexpr std::size_t line = 64;
    static constexpr std::chrono::milliseconds patience{60'000};

    Result run(Operation what, std::size_t where, std::uint32_t word, std::uint32_t room) {
        xrt::run run(kernel_);
        run.set_arg(operation, static_cast<std::uint32_t>(what));
        run.set_arg(place, static_cast<std::uint32_t>(where));
        run.set_arg(value, word);
        run.set_arg(room_of, room);
        run.set_arg(to, to_);
        run.set_arg(back, back_);
        run.start();
        if (run.wait(patience) != ERT_CMD_STATE_COMPLETED) throw std::runtime_error(name_ + ": no answer");
        back_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, line, 0);
        Result result{};
        std::memcpy(&result, back_.map<std::byte*>(), sizeof result);
        return result;
    }

    xrt::device& card_;
    std::string name_;
    xrt::kernel kernel_;
    xrt::bo to_, back_;
    std::size_t beat_ = line;
    std::uint32_t cycles_ = 0;
};

}  // namespace offramp
