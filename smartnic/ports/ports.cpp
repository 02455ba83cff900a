// SPDX-License-Identifier: Apache-2.0
#include "ports.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include <string>

#include "worker.hpp"

namespace {

constexpr unsigned buffers = 16'383, cached = 256;

std::string problem;

// Never destroyed: DPDK's memory must not go before what lies in it, and a process has one.
offramp::Plant& plant() {
    static auto* const plant = new offramp::Plant;
    return *plant;
}

int fails(std::string error) {
    problem = std::move(error);
    return -1;
}

offramp::Port* port_of(int port) {
    return port >= 0 && port < static_cast<int>(offramp::most_ports) ? plant().ports[static_cast<std::size_t>(port)].get()
                                                                      : nullptr;
}

offramp::Worker* worker_of(int worker) {
    return worker >= 0 && worker < static_cast<int>(plant().workers.size())
               ? plant().workers[static_cast<std::size_t>(worker)].get()
               : nullptr;
}

}  // namespace

const char* offramp_error() {
    return problem.c_str();
}

int offramp_start(int argc, char** argv) {
    if (plant().buffers != nullptr) return 0;
    if (rte_eal_init(argc, argv) < 0) return fails(std::string("DPDK does not start: ") + rte_strerror(rte_errno));
    const int socket = static_cast<int>(rte_socket_id());
    plant().buffers = rte_pktmbuf_pool_create("frames", buffers, cached, 0, RTE_MBUF_DEFAULT_BUF_SIZE, socket);
    if (plant().buffers == nullptr) return fails("DPDK does not start: no memory for frames");
    plant().exceptions.open(socket);
    return 0;
}

int offramp_open(const char* name, const char* arguments, int port, int workers) {
    if (port < 0 || port >= static_cast<int>(offramp::most_ports)) return fails("expected a port of 0 to 511");
    std::string error;
    auto opened = offramp::Port::open(name, arguments, static_cast<unsigned>(workers), plant().buffers, error);
    if (opened == nullptr) return fails(error);
    plant().ports[static_cast<std::size_t>(port)] = std::move(opened);
    return 0;
}

void offramp_close(int port) {
    if (port_of(port) != nullptr) plant().ports[static_cast<std::size_t>(port)].reset();
}

int offramp_port_stats_of(int port, offramp_port_stats* into) {
    const offramp::Port* counted = port_of(port);
    if (counted == nullptr) return -1;
    counted->stats(*into);
    return 0;
}

int offramp_workers(int count, int by_flow) {
    if (count < 1 || count > static_cast<int>(offramp::most_workers)) return fails("expected 1 to 16 cores");
    plant().by_flow = by_flow != 0 && count > 1;
    plant().gate.open();
    for (int i = 0; i < count; ++i) {
        plant().workers.push_back(std::make_unique<offramp::Worker>(plant(), static_cast<unsigned>(i)));
        if (plant().workers.back()->handed == nullptr) return fails("no memory for a core's frames");
    }
    return 0;
}

void offramp_assign(int worker, int port) {
    if (worker_of(worker) != nullptr && port_of(port) != nullptr)
        worker_of(worker)->ports.push_back(static_cast<unsigned>(port));
}

void offramp_program_of(int worker, const offramp_program* program) {
    if (worker_of(worker) != nullptr) worker_of(worker)->program = *program;
}

void offramp_run_workers() {
    for (auto& worker : plant().workers) worker->start();
}

int offramp_worker_stats_of(int worker, offramp_worker_stats* into) {
    offramp::Worker* counted = worker_of(worker);
    if (counted == nullptr) return -1;
    counted->stats(*into);
    return 0;
}

void offramp_end_workers() {
    plant().gate.end();
    plant().workers.clear();
}

void offramp_pause() {
    plant().gate.pause();
}

void offramp_resume() {
    plant().gate.resume();
}

int offramp_exceptions_fd() {
    return plant().exceptions.descriptor();
}

std::int64_t offramp_exceptions(std::uint8_t* rows, std::int64_t stride, std::int32_t* lengths, std::int32_t* ports,
                                std::int64_t most) {
    return plant().exceptions.take(rows, stride, lengths, ports, most);
}

std::int64_t offramp_send(int port, const std::uint8_t* rows, std::int64_t stride, const std::int64_t* which,
                          const std::int32_t* lengths, std::int64_t count) {
    const offramp::Port* counted = port_of(port);
    if (counted == nullptr) return 0;
    for (std::int64_t i = 0; i < count; ++i) {
        rte_mbuf* frame = rte_pktmbuf_alloc(plant().buffers);
        const std::int32_t length = lengths[which[i]];
        char* into = frame == nullptr ? nullptr : rte_pktmbuf_append(frame, static_cast<std::uint16_t>(length));
        if (into != nullptr) std::memcpy(into, rows + which[i] * stride, static_cast<std::size_t>(length));
        if (into == nullptr || rte_ring_enqueue(counted->injected(), frame) != 0) {
            rte_pktmbuf_free(frame);
            return i;
        }
    }
    return count;
}
