// SPDX-License-Identifier: Apache-2.0
#include "compressor.hpp"

#include <rte_comp.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include <algorithm>
#include <cstring>

namespace offramp {
namespace {

constexpr std::size_t segment = 60 << 10, header = 2, trailer = 4, most = std::size_t{1} << 24;
constexpr unsigned inflight = 16;

// The checksum of RFC 1950 over `length` further bytes.
std::uint32_t adler32(std::uint32_t sum, const std::byte* at, std::size_t length) {
    std::uint32_t a = sum & 0xFFFF, b = sum >> 16;
    while (length > 0) {
        const std::size_t part = std::min<std::size_t>(length, 5552);  // the sums cannot overflow before
        for (std::size_t i = 0; i < part; ++i) {
            a += std::to_integer<std::uint32_t>(at[i]);
            b += a;
        }
        a %= 65521;
        b %= 65521;
        at += part;
        length -= part;
    }
    return b << 16 | a;
}

std::uint32_t adler32(const rte_mbuf* at, std::size_t length) {
    std::uint32_t sum = 1;
    for (; at != nullptr && length > 0; at = at->next) {
        const std::size_t part = std::min<std::size_t>(length, at->data_len);
        sum = adler32(sum, rte_pktmbuf_mtod(at, const std::byte*), part);
        length -= part;
    }
    return sum;
}

}  // namespace

std::unique_ptr<CompressDevice> CompressDevice::open(const std::string& name, unsigned cores, std::string& error) {
    const int number = name.empty() ? (rte_compressdev_count() > 0 ? 0 : -1) : rte_compressdev_get_dev_id(name.c_str());
    if (number < 0) {
        error = "compression device " + (name.empty() ? "of any name" : name) +
              ": not found; install librte-compress-zlib23 or librte-compress-isal23";
        return nullptr;
    }
    std::unique_ptr<CompressDevice> device(new CompressDevice);
    device->id_ = static_cast<std::uint8_t>(number);
    device->name_ = rte_compressdev_name_get(device->id_);
    device->says_end_ = device->name_ == "compress_zlib";
    rte_compressdev_config config{};
    config.socket_id = static_cast<int>(rte_socket_id());
    config.nb_queue_pairs = static_cast<std::uint16_t>(cores);
    config.max_nb_priv_xforms = static_cast<std::uint16_t>(2 * cores);
    bool good = rte_compressdev_configure(device->id_, &config) == 0;
    for (unsigned core = 0; core < cores; ++core)
        good = good && rte_compressdev_queue_pair_setup(device->id_, static_cast<std::uint16_t>(core), inflight,
                                                        config.socket_id) == 0;
    good = good && rte_compressdev_start(device->id_) == 0;
    rte_comp_xform compress{}, decompress{};
    compress.type = RTE_COMP_COMPRESS;
    compress.compress.algo = RTE_COMP_ALGO_DEFLATE;
    compress.compress.deflate.huffman = RTE_COMP_HUFFMAN_DEFAULT;
    compress.compress.level = 1;
    compress.compress.window_size = 15;
    compress.compress.chksum = RTE_COMP_CHECKSUM_NONE;
    decompress.type = RTE_COMP_DECOMPRESS;
    decompress.decompress.algo = RTE_COMP_ALGO_DEFLATE;
    decompress.decompress.window_size = 15;
    decompress.decompress.chksum = RTE_COMP_CHECKSUM_NONE;
    device->transforms_.resize(cores);
    for (auto& each : device->transforms_)
        good = good && rte_compressdev_private_xform_create(device->id_, &compress, &each.compress) == 0 &&
               rte_compressdev_private_xform_create(device->id_, &decompress, &each.decompress) == 0;
    if (!good) {
        error = "compression device " + device->name_ + ": refuses " + std::to_string(cores) + " queue pairs of deflate";
        return nullptr;
    }
    return device;
}

CompressDevice::~CompressDevice() {
    for (const auto& each : transforms_)
        for (void* transform : {each.compress, each.decompress})
            if (transform != nullptr) rte_compressdev_private_xform_free(id_, transform);
    rte_compressdev_stop(id_);
    rte_compressdev_close(id_);
}

Compressor::Compressor(const CompressDevice& deflater, const CompressDevice& inflater, unsigned queue)
    : deflater_(deflater), inflater_(inflater), queue_(static_cast<std::uint16_t>(queue)) {
    const std::string suffix = std::to_string(queue);
    const int socket = static_cast<int>(rte_socket_id());
    ops_ = rte_comp_op_pool_create(("comp-ops-" + suffix).c_str(), inflight, 0, 0, socket);
    buffers_ = rte_pktmbuf_pool_create(("comp-buffers-" + suffix).c_str(), 2 * (most / segment + 4), 0, 0,
                                       static_cast<std::uint16_t>(segment + RTE_PKTMBUF_HEADROOM), socket);
}

Compressor::~Compressor() {
    release();
    rte_mempool_free(ops_);
    rte_mempool_free(buffers_);
}

void Compressor::release() {
    rte_pktmbuf_free(source_);
    rte_pktmbuf_free(sink_);
    source_ = sink_ = nullptr;
}

rte_mbuf* Compressor::chain(std::size_t length) {
    rte_mbuf* first = nullptr;
    rte_mbuf* last = nullptr;
    std::uint16_t segments = 0;
    for (std::size_t left = std::max<std::size_t>(length, 1); left > 0;) {
        rte_mbuf* next = rte_pktmbuf_alloc(buffers_);
        if (next == nullptr) {
            rte_pktmbuf_free(first);
            return nullptr;
        }
        next->data_len = static_cast<std::uint16_t>(std::min(left, segment));
        left -= next->data_len;
        (last == nullptr ? first : last->next) = next;
        last = next;
        ++segments;
        first->nb_segs = segments;
    }
    first->pkt_len = static_cast<std::uint32_t>(std::max<std::size_t>(length, 1));
    return first;
}

void Compressor::fill(Bytes from) {
    for (rte_mbuf* at = source_; at != nullptr && !from.empty(); at = at->next) {
        const std::size_t part = std::min<std::size_t>(from.size(), at->data_len);
        std::memcpy(rte_pktmbuf_mtod(at, void*), from.data(), part);
        from = from.subspan(part);
    }
}

void Compressor::copy_out(std::size_t length, std::byte* to) const {
    for (const rte_mbuf* at = sink_; at != nullptr && length > 0; at = at->next) {
        const std::size_t part = std::min<std::size_t>(length, at->data_len);
        std::memcpy(to, rte_pktmbuf_mtod(at, const void*), part);
        to += part;
        length -= part;
    }
}

Compressor::Done Compressor::run(const CompressDevice& device, void* transform, Bytes from, std::size_t room) {
    Done done{RTE_COMP_OP_STATUS_ERROR, 0, 0};
    source_ = chain(from.size());
    sink_ = chain(room);
    rte_comp_op* op = ops_ == nullptr ? nullptr : rte_comp_op_alloc(ops_);
    if (source_ == nullptr || sink_ == nullptr || op == nullptr) {
        rte_comp_op_free(op);
        return done;
    }
    fill(from);
    op->op_type = RTE_COMP_OP_STATELESS;
    op->flush_flag = RTE_COMP_FLUSH_FINAL;
    op->private_xform = transform;
    op->m_src = source_;
    op->m_dst = sink_;
    op->src.offset = 0;
    op->src.length = static_cast<std::uint32_t>(from.size());
    op->dst.offset = 0;
    op->input_chksum = 0;
    if (rte_compressdev_enqueue_burst(device.id_, queue_, &op, 1) == 1) {
        rte_comp_op* back = nullptr;
        while (rte_compressdev_dequeue_burst(device.id_, queue_, &back, 1) == 0) rte_pause();
        done = {back->status, back->consumed, back->produced};
    } else {
        done = {op->status, 0, 0};
    }
    rte_comp_op_free(op);
    return done;
}

Answer Compressor::compress(Bytes message, Room answer) {
    if (message.size() > most) return {Status::bad_length};
    if (answer.size() < header + trailer + 5) return {Status::no_room};
    if (message.empty()) {  // which not every device takes
        constexpr std::uint64_t nothing = 0x0100000000030178;
        store(answer.data(), nothing);
        return {Status::ok, sizeof nothing};
    }
    const std::size_t room = std::min(answer.size() - header - trailer, message.size() + message.size() / 8 + 1024);
    Done done = run(deflater_, deflater_.transforms_[queue_].compress, message, room);
    const bool whole = done.status == RTE_COMP_OP_STATUS_SUCCESS && done.consumed == message.size();
    if (!whole && &inflater_ != &deflater_) {
        // ISA-L's driver stops in the middle of some messages of several segments.
        release();
        done = run(inflater_, inflater_.transforms_[queue_].compress, message, room);
    }
    if (done.status == RTE_COMP_OP_STATUS_SUCCESS) {
        store(answer.data(), std::uint16_t{0x0178});  // deflate, 32 KiB window, fastest
        copy_out(done.produced, answer.data() + header);
        // Of what was compressed: the host may have written to the message since.
        store_be32(answer.data() + header + done.produced, adler32(source_, message.size()));
    }
    release();
    if (done.status == RTE_COMP_OP_STATUS_OUT_OF_SPACE_TERMINATED ||
        done.status == RTE_COMP_OP_STATUS_OUT_OF_SPACE_RECOVERABLE)
        return {Status::no_room};
    if (done.status != RTE_COMP_OP_STATUS_SUCCESS || done.consumed != message.size()) return {Status::failed};
    return {Status::ok, header + done.produced + trailer};
}

Answer Compressor::decompress(Bytes message, Room answer) {
    if (message.size() > most + most / 8 || message.size() < header + 1 + trailer) return {Status::failed};
    const auto first = std::to_integer<unsigned>(message[0]), second = std::to_integer<unsigned>(message[1]);
    if ((first & 15) != 8 || first >> 4 > 7 || (first << 8 | second) % 31 != 0 || (second & 0x20) != 0)
        return {Status::failed};
    const std::uint32_t expected = load_be32(message.data() + message.size() - trailer);
    const std::size_t room = std::min(answer.size(), most), length = message.size() - header - trailer;
    // zlib's device says where the data end, so it also gets the trailer: data that are cut off run into it. Others
    // take all that they are given for data.
    const Bytes data = message.subspan(header, inflater_.says_end_ ? length + trailer : length);
    const Done done = run(inflater_, inflater_.transforms_[queue_].decompress, data, room);
    const bool good = done.status == RTE_COMP_OP_STATUS_SUCCESS;
    const bool right = good && adler32(sink_, done.produced) == expected;
    if (right) copy_out(done.produced, answer.data());
    release();
    if (done.status == RTE_COMP_OP_STATUS_OUT_OF_SPACE_TERMINATED ||
        done.status == RTE_COMP_OP_STATUS_OUT_OF_SPACE_RECOVERABLE)
        return {room == most ? Status::failed : Status::no_room};
    if (!right || done.consumed != length) return {Status::failed};
    return {Status::ok, done.produced};
}

}  // namespace offramp
