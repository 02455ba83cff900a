// SPDX-License-Identifier: Apache-2.0
// Hermod's end host: requests of a client that may lie, and frames of any bytes.
//
// The input is cut into steps: a byte that says which, a length of two bytes, the bytes. Half of the frames get a good
// prefix.
#include <algorithm>
#include <vector>

#include "hermod/endpoint.hpp"

using namespace offramp;
using namespace offramp::hermod;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::byte> memory(8192);
    Endpoint endpoint(0, std::vector<Address>(3), 46, 1000);
    Time now = 0;
    Bytes left = std::as_bytes(std::span(data, size));
    while (left.size() > 3) {
        const auto step = std::to_integer<unsigned>(left[0]);
        const std::size_t length = std::min<std::size_t>(load_be16(left.data() + 1), left.size() - 3);
        const std::vector<std::byte> bytes(left.begin() + 3, left.begin() + 3 + static_cast<std::ptrdiff_t>(length));
        left = left.subspan(3 + length);
        if (step % 4 == 0) {
            std::string error;
            (void)endpoint.submit(step, bytes, memory, error);
        } else if (step % 4 == 1) {
            endpoint.incoming(bytes);
        } else {
            std::vector<std::byte> frame(prefix_bytes + length);
            frame[12] = std::byte{8};
            frame[14] = std::byte{0x45};
            frame[23] = std::byte{17};
            store_be16(frame.data() + 36, udp_port);
            std::copy(bytes.begin(), bytes.end(), frame.begin() + prefix_bytes);
            endpoint.incoming(frame);
        }
        std::byte out[frame_bytes];
        unsigned place = 0;
        for (int frames = 0; frames < 16 && endpoint.outgoing(out, place) != 0; ++frames) {
        }
        endpoint.tick(now += 700);
        for (std::uint64_t request = 0; endpoint.finished(request);) {
        }
    }
    return 0;
}
