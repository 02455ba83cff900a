// SPDX-License-Identifier: Apache-2.0
// C simulation: each kernel behind a C function over plain arrays, for tests to call.
#include <cstdint>
#include <cstring>
#include <vector>

#include "ebs_lookup/ebs_lookup.hpp"
#include "kvs_lookup/kvs_lookup.hpp"
#include "p2p_dma/p2p_dma.hpp"
#include "path_router/path_router.hpp"
#include "quantpack/quantpack.hpp"
#include "reduce/reduce.hpp"

using namespace offramp;

namespace {

constexpr size_t kBytes = 64;

Line line_of(const uint8_t *bytes) {
    Line line = 0;
    uint64_t words[8];
    std::memcpy(words, bytes, sizeof words);
    for (int i = 0; i < 8; ++i) line(64 * i + 63, 64 * i) = words[i];
    return line;
}

void to_bytes(const Line &line, uint8_t *bytes) {
    uint64_t words[8];
    for (int i = 0; i < 8; ++i) words[i] = Line(line >> (64 * i)).to_uint64();
    std::memcpy(bytes, words, sizeof words);
}

// Memory as whole lines; bytes beyond its end are zero, and must stay zero.
std::vector<Line> lines_of(const uint8_t *bytes, size_t size) {
    std::vector<Line> lines;
    for (size_t at = 0; at < size; at += kBytes) {
        uint8_t whole[kBytes] = {};
        std::memcpy(whole, bytes + at, size - at < kBytes ? size - at : kBytes);
        lines.push_back(line_of(whole));
    }
    lines.push_back(0);
    return lines;
}

bool back(const std::vector<Line> &lines, uint8_t *bytes, size_t size) {
    std::vector<uint8_t> whole(lines.size() * kBytes);
    for (size_t i = 0; i < lines.size(); ++i) to_bytes(lines[i], &whole[i * kBytes]);
    std::memcpy(bytes, whole.data(), size);
    for (size_t at = size; at < whole.size(); ++at) {
        if (whole[at]) return false;
    }
    return true;
}

Beat beat_of(const uint8_t *bytes, size_t count, bool last) {
    uint8_t whole[kBytes] = {};
    std::memcpy(whole, bytes, count);
    Beat beat = item_of(line_of(whole), last);
    beat.keep = first_bytes(ap_uint<7>(count));
    return beat;
}

// Where packets ended in the streams of the last call: beats taken, ends among them, and whether the last beat was one.
struct Ends {
    uint32_t beats, ends, closed;
} ends;

// Takes an item, and counts where packets end.
template <typename T>
T next(hls::stream<Item<T>> &out) {
    const Item<T> item = out.read();
    ends.beats += 1;
    ends.closed = item.last == 1;
    ends.ends += ends.closed;
    return item.data;
}

// Copies the bytes that a beat keeps to *bytes, and advances it.
void take(hls::stream<Beat> &out, uint8_t *&bytes) {
    const Beat beat = out.read();
    ends.beats += 1;
    ends.closed = beat.last == 1;
    ends.ends += ends.closed;
    uint8_t whole[kBytes];
    to_bytes(beat.data, whole);
    for (size_t i = 0; i < kBytes; ++i) {
        if (beat.keep[i]) *bytes++ = whole[i];
    }
}

}  // namespace

extern "C" {

// Gives the counts of the calls since the last time, and begins anew.
void ends_csim(uint32_t *counts) {
    std::memcpy(counts, &ends, sizeof ends);
    ends = {};
}

void kvs_lookup_csim(const uint8_t *table, uint32_t buckets, const uint64_t *keys, uint64_t *addresses,
                     uint32_t count) {
    const std::vector<Line> lines = lines_of(table, size_t(buckets) * kBytes);
    hls::stream<Item<ap_uint<64>>> in("keys"), out("addresses");
    for (uint32_t i = 0; i < count; ++i) in.write(item_of(ap_uint<64>(keys[i]), i == count - 1));
    kvs_lookup(in, out, lines.data(), lines.data(), buckets - 1, count);
    for (uint32_t i = 0; i < count; ++i) addresses[i] = next(out).to_uint64();
}

void ebs_lookup_csim(uint8_t *volumes, uint32_t number_of_volumes, const uint64_t *entries, uint32_t number_of_entries,
                     const uint64_t *addresses, uint32_t number_of_segments, const uint8_t *requests, uint8_t *answers,
                     uint32_t count) {
    std::vector<Line> lines = lines_of(volumes, size_t(number_of_volumes) * kBytes);
    const std::vector<ap_uint<64>> blocks(entries, entries + number_of_entries);
    const std::vector<ap_uint<64>> bases(addresses, addresses + number_of_segments);
    hls::stream<Item<EbsRequest>> in("requests");
    hls::stream<Item<EbsAnswer>> out("answers");
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t words[2];
        uint64_t longs[2];
        std::memcpy(words, requests + 24 * i, 8);
        std::memcpy(longs, requests + 24 * i + 8, 16);
        in.write(item_of(EbsRequest{words[0], words[1], longs[0], longs[1]}, i == count - 1));
    }
    ebs_lookup(in, out, lines.data(), blocks.data(), bases.data(), number_of_volumes, number_of_segments, count);
    for (uint32_t i = 0; i < count; ++i) {
        const EbsAnswer answer = next(out);
        const uint32_t words[2] = {uint32_t(answer.outcome.to_uint()), uint32_t(answer.server.to_uint())};
        const uint64_t address = answer.address.to_uint64();
        std::memcpy(answers + 16 * i, words, 8);
        std::memcpy(answers + 16 * i + 8, &address, 8);
    }
    back(lines, volumes, size_t(number_of_volumes) * kBytes);
}

void reduce_csim(const uint8_t *vectors, uint32_t number, uint32_t bytes, uint32_t type, uint8_t *sum) {
    hls::stream<Beat> in[kVectors], out("sum");
    const uint32_t beats = (bytes + kBytes - 1) / kBytes;
    for (uint32_t i = 0; i < number; ++i) {
        for (uint32_t beat = 0; beat < beats; ++beat) {
            const size_t at = size_t(beat) * kBytes, left = bytes - at < kBytes ? bytes - at : kBytes;
            in[i].write(beat_of(vectors + size_t(i) * bytes + at, left, beat == beats - 1));
        }
    }
    reduce(in, out, type, number, beats);
    for (uint32_t beat = 0; beat < beats; ++beat) take(out, sum);
}

// memories: three, one after the other, of limits[i] bytes each. Returns false if a byte beyond a limit was changed.
bool p2p_dma_csim(uint8_t *memories, const uint64_t *limits, const uint8_t *descriptors, uint8_t *completions,
                  uint32_t count) {
    std::vector<Line> lines[kMemories];
    ap_uint<64> bounds[kMemories];
    size_t at = 0;
    for (int i = 0; i < kMemories; at += limits[i], ++i) {
        lines[i] = lines_of(memories + at, limits[i]);
        bounds[i] = limits[i];
    }
    hls::stream<Item<Descriptor>> in("descriptors");
    hls::stream<Item<DmaCompletion>> out("completions");
    for (uint32_t i = 0; i < count; ++i) {
        const uint8_t *from = descriptors + 32 * i;
        uint32_t length;
        uint64_t longs[3];
        std::memcpy(&length, from + 4, 4);
        std::memcpy(longs, from + 8, 24);
        const Descriptor wanted = {from[0], from[1], from[2], from[3], length, longs[0], longs[1], longs[2]};
        in.write(item_of(wanted, i == count - 1));
    }
    p2p_dma(in, out, lines[0].data(), lines[1].data(), lines[2].data(), bounds, count);
    for (uint32_t i = 0; i < count; ++i) {
        const DmaCompletion completion = next(out);
        const uint32_t words[2] = {uint32_t(completion.status.to_uint()), uint32_t(completion.copied.to_uint())};
        const uint64_t request = completion.request.to_uint64();
        std::memcpy(completions + 16 * i, words, 8);
        std::memcpy(completions + 16 * i + 8, &request, 8);
    }
    at = 0;
    bool untouched = true;
    for (int i = 0; i < kMemories; at += limits[i], ++i) untouched = back(lines[i], memories + at, limits[i]) && untouched;
    return untouched;
}

// Packets are (port, destination, beats) in `packets`; each beat carries its packet's number and its own. Answers are
// (port, packet, beat) in the order in which beats leave each port.
uint32_t path_router_csim(uint32_t model, const uint32_t *packets, uint32_t count, uint32_t *answers, uint32_t *leaving) {
    hls::stream<Routed> in[kPorts];
    hls::stream<Beat> out[kPorts];
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t *packet = packets + 3 * i;
        for (uint32_t beat = 0; beat < packet[2]; ++beat) {
            Routed routed;
            routed.data = Line(beat) << 32 | Line(i);
            routed.keep = ~ap_uint<64>(0);
            routed.strb = routed.keep;
            routed.last = beat == packet[2] - 1;
            routed.dest = packet[1];
            in[packet[0]].write(routed);
        }
    }
    ap_uint<32> refused = 0;
    path_router(in, out, model, refused);
    *leaving = 0;
    for (uint32_t port = 0; port < kPorts; ++port) {
        while (!out[port].empty()) {
            const Line data = next(out[port]);
            const uint32_t record[3] = {port, uint32_t(data.to_uint()), uint32_t(Line(data >> 32).to_uint())};
            std::memcpy(answers + 3 * (*leaving)++, record, sizeof record);
        }
    }
    return refused.to_uint();
}

void quantise_csim(const uint64_t *numbers, const uint8_t *values, uint64_t seed, uint32_t columns, uint32_t bits,
                   bool compact, uint32_t rows, uint8_t *packed, uint32_t *bounds, uint8_t *wrong) {
    hls::stream<Item<ap_uint<64>>> in_numbers("numbers");
    hls::stream<Beat> in("values"), out("packed");
    hls::stream<Item<Bounds>> out_bounds("bounds");
    const size_t row_bytes = size_t(columns) * 4;
    for (uint32_t row = 0; row < rows; ++row) {
        in_numbers.write(item_of(ap_uint<64>(numbers[row]), row == rows - 1));
        for (size_t at = 0; at < row_bytes; at += kBytes) {
            const size_t left = row_bytes - at < kBytes ? row_bytes - at : kBytes;
            in.write(beat_of(values + row * row_bytes + at, left, at + kBytes >= row_bytes));
        }
    }
    quantise(in_numbers, in, out_bounds, out, seed, columns, bits, compact, rows);
    while (!out.empty()) take(out, packed);
    for (uint32_t row = 0; row < rows; ++row) {
        const Bounds row_bounds = next(out_bounds);
        bounds[2 * row] = row_bounds.least.to_uint();
        bounds[2 * row + 1] = row_bounds.greatest.to_uint();
        wrong[row] = row_bounds.wrong;
    }
}

void dequantise_csim(const uint32_t *bounds, const uint8_t *packed, uint32_t columns, uint32_t bits, uint32_t rows,
                     uint8_t *values) {
    hls::stream<Item<Bounds>> in_bounds("bounds");
    hls::stream<Beat> in("packed"), out("values");
    const size_t row_bytes = (size_t(columns) * bits + 7) / 8;
    for (uint32_t row = 0; row < rows; ++row) {
        in_bounds.write(item_of(Bounds{bounds[2 * row], bounds[2 * row + 1], 0}, row == rows - 1));
        for (size_t at = 0; at < row_bytes; at += kBytes) {
            const size_t left = row_bytes - at < kBytes ? row_bytes - at : kBytes;
            in.write(beat_of(packed + row * row_bytes + at, left, at + kBytes >= row_bytes));
        }
    }
    dequantise(in_bounds, in, out, columns, bits, rows);
    while (!out.empty()) take(out, values);
}

}  // extern "C"
