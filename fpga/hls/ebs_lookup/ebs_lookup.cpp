// SPDX-License-Identifier: Apache-2.0
#include "ebs_lookup/ebs_lookup.hpp"

namespace offramp {
namespace {

constexpr int kSegmentBits = 9;  // blocks of a segment
constexpr int kBlockBits = 12;   // bytes of a block

// Tokens of a volume's bucket once the time since its last read has been credited.
ap_uint<64> credited(const Line &volume, ap_uint<64> now) {
#pragma HLS inline
    const ap_uint<32> rate = volume(159, 128);
    const ap_uint<64> burst = volume(255, 192), held = volume(319, 256), last = volume(383, 320);
    const ap_uint<64> passed = now - last;
    const ap_uint<32> counted = passed > 0xFFFFFFFF ? ap_uint<32>(0xFFFFFFFF) : ap_uint<32>(passed);
    const ap_uint<65> full = ap_uint<65>(held) + ap_uint<64>(counted) * ap_uint<64>(rate);
    return full > burst ? burst : ap_uint<64>(full);
}

EbsAnswer answer(const EbsRequest &request, Line *volumes, const ap_uint<64> *entries, const ap_uint<64> *addresses,
                 ap_uint<32> number_of_volumes, ap_uint<32> number_of_segments) {
#pragma HLS inline
    EbsAnswer answer = {kNoVolume, 0, 0};
    if (request.volume >= number_of_volumes) return answer;
    Line volume = volumes[request.volume];
    const ap_uint<64> blocks = volume(127, 64);
    if (blocks == 0) return answer;
    answer.outcome = kOutOfRange;
    if (request.blocks == 0 || request.blocks > blocks || request.start > blocks - request.blocks) return answer;
    answer.outcome = kSplit;
    const ap_uint<kSegmentBits> within = request.start;
    if (ap_uint<33>(within) + request.blocks > 1 << kSegmentBits) return answer;
    answer.outcome = kUnmapped;
    const ap_uint<64> entry = entries[ap_uint<32>(volume(31, 0)) + (request.start >> kSegmentBits)];
    const ap_uint<32> stored = entry >> 32;
    if (stored == 0 || stored > number_of_segments) return answer;
    const ap_uint<64> base = addresses[stored - 1];
    if (base == 0) return answer;
    answer.outcome = kWait;
    const ap_uint<64> last = volume(383, 320);
    const ap_uint<64> now = request.tick > last ? request.tick : last;
    const ap_uint<64> held = credited(volume, now), wanted = ap_uint<64>(request.blocks) << kBlockBits;
    if (held < wanted) return answer;
    volume(319, 256) = held - wanted;
    volume(383, 320) = now;
    volumes[request.volume] = volume;
    answer.outcome = kFound;
    answer.server = ap_uint<32>(entry);
    answer.address = base + (ap_uint<64>(within) << kBlockBits);
    return answer;
}

}  // namespace

void ebs_lookup(hls::stream<Item<EbsRequest>> &requests, hls::stream<Item<EbsAnswer>> &answers, Line *volumes,
                const ap_uint<64> *entries, const ap_uint<64> *addresses, ap_uint<32> number_of_volumes,
                ap_uint<32> number_of_segments, ap_uint<32> count) {
#pragma HLS interface axis port = requests
#pragma HLS interface axis port = answers
#pragma HLS interface m_axi port = volumes bundle = volumes depth = kSimulatedLines
#pragma HLS interface m_axi port = entries bundle = entries depth = kSimulatedLines
#pragma HLS interface m_axi port = addresses bundle = addresses depth = kSimulatedLines
#pragma HLS interface s_axilite port = number_of_volumes
#pragma HLS interface s_axilite port = number_of_segments
#pragma HLS interface s_axilite port = count
#pragma HLS interface s_axilite port = return
    // A volume's bucket is read and written by each of its requests, so one follows the other.
    for (ap_uint<32> i = 0; i < count; ++i) {
        const EbsRequest request = requests.read().data;
        const EbsAnswer reply = answer(request, volumes, entries, addresses, number_of_volumes, number_of_segments);
        answers.write(item_of(reply, i == count - 1));
    }
}

}  // namespace offramp
