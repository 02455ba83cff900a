// SPDX-License-Identifier: Apache-2.0
// What Python says of a worker of SwitchGNN (offramp.switchgnn.worker_library), and how it is answered.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "switchgnn/recovery.hpp"

#define OFFRAMP_API extern "C" __attribute__((visibility("default")))

extern "C" {

struct offramp_worker_settings {
    std::uint32_t worker, window;  // frames that are sent before the link is read again
    std::int64_t retry, cap, limit, tick;  // nanoseconds
    std::uint32_t acks, reupload;
};
}

namespace offramp {

inline constexpr std::size_t error_bytes = 512;

// Puts a line, or as much of it as there is room for, where the caller reads it.
inline void say(char* error, const std::string& text) { std::snprintf(error, error_bytes, "%s", text.c_str()); }

[[nodiscard]] inline switchgnn::Recovery recovery_of(const offramp_worker_settings& settings) {
    return {settings.retry, settings.cap, settings.acks != 0, settings.reupload != 0};
}

}  // namespace offramp
