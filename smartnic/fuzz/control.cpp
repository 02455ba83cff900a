// SPDX-License-Identifier: Apache-2.0
// Fuzzes what a client can send: messages of the control protocol, and requests to the offloads.
#include <algorithm>
#include <vector>

#include "offload.hpp"
#include "protocol.hpp"

using namespace offramp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    const Bytes rest = std::as_bytes(std::span(data, size)).subspan(4);
    if (data[0] < 128) {
        std::string error;
        protocol::Message message;
        (void)protocol::parse(data[1], rest, data[2] % 3, message, error);
    } else {
        // Copies of just the length, so that reading or writing beyond is seen.
        std::vector<std::byte> memory(16 * 64), message(rest.begin(), rest.end()), answer(data[2] * 16u);
        std::copy_n(rest.begin(), std::min(rest.size(), memory.size()), memory.begin());
        Tables tables{{memory, 16}, {memory, 4, 64, 32}, {memory, 16, 16}};
        (void)offload(static_cast<Function>(data[1] % 9), tables, message, answer);
    }
    return 0;
}
