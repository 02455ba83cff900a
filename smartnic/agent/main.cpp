// SPDX-License-Identifier: Apache-2.0
// offramp-nic-agent: offloads and SwitchGNN's host transport on the cores of a smartNIC, or of any Linux machine.
#include <poll.h>
#include <pthread.h>
#include <rte_launch.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <atomic>
#include <cstdio>

#include "control.hpp"
#include "device.hpp"
#include "eal.hpp"
#include "reduce.hpp"
#include "reflect.hpp"

using namespace offramp;

namespace {

int fail(const std::string& error) {
    std::fprintf(stderr, "offramp-nic-agent: %s\n", error.c_str());
    return 2;
}

struct CompressDevices {
    std::unique_ptr<CompressDevice> deflater, other;

    [[nodiscard]] const CompressDevice& inflater() const { return other == nullptr ? *deflater : *other; }
};

// Cores with the compression devices' queue pairs. ISA-L's takes data that are cut off for whole ones: zlib's inflates.
bool make_cores(const Options& options, Agent& agent, CompressDevices& devices, std::string& error) {
    const std::string name = Eal::compression(options);
    if (!name.empty()) {
        devices.deflater = CompressDevice::open(name, options.cores, error);
        if (devices.deflater == nullptr) return false;
        agent.compression = devices.deflater->name();
        if (name == Eal::isal && (devices.other = CompressDevice::open(Eal::zlib, options.cores, error)) == nullptr)
            return false;
    }
    for (unsigned core = 0; core < options.cores; ++core)
        agent.cores.push_back(std::make_unique<Core>(
            name.empty() ? nullptr : std::make_unique<Compressor>(*devices.deflater, devices.inflater(), core),
            options.spin));
    return true;
}

void watch(int epoll, int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

// The agent's state as JSON.
void describe(const Agent& agent) {
    std::string text;
    for (const auto& port : agent.ports) text += (text.empty() ? "" : ", ") + port->abilities();
    std::printf("{\"ports\": [%s]}\n", text.c_str());
}

struct Share {
    std::vector<Lane*> lanes;
    int stop;
    std::atomic<bool> ended = false;
};

// Each core turns the frames of its share of the lanes round.
void reflect_all(const Agent& agent, int stop) {
    std::vector<Share> shares(agent.cores.size());
    for (auto& share : shares) share.stop = stop;
    for (const auto& port : agent.ports)
        for (std::uint16_t lane = 0; lane < port->lanes(); ++lane)
            shares[lane % shares.size()].lanes.push_back(&port->lane(lane));
    unsigned lcore = 0;
    for (auto& share : shares)
        rte_eal_remote_launch(
            [](void* given) {
                auto& mine = *static_cast<Share*>(given);
                reflect(mine.lanes, mine.stop);
                mine.ended.store(true, std::memory_order_release);
                mine.ended.notify_all();
                return 0;
            },
            &share, ++lcore);
    pollfd end{stop, POLLIN, 0};
    while (::poll(&end, 1, -1) < 0) {
    }
    // DPDK waits by looking again and again, where sanitizers cannot see what that orders.
    for (const auto& share : shares) share.ended.wait(false, std::memory_order_acquire);
    rte_eal_mp_wait_lcore();
}

int work(void* core) {
    static_cast<Core*>(core)->run();
    return 0;
}

int serve(const Options& options) {
    sigset_t ends;
    sigemptyset(&ends);
    for (const int each : {SIGINT, SIGTERM}) sigaddset(&ends, each);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before DPDK makes threads, which inherit it
    const Descriptor signals(::signalfd(-1, &ends, SFD_CLOEXEC)), stop(::epoll_create1(EPOLL_CLOEXEC));
    watch(stop.get(), signals.get());
    if (options.until_eof) watch(stop.get(), STDIN_FILENO);
    std::string error;
    if (options.take_over && !Device::shared(options.ports, error)) return fail(error);
    const auto eal = Eal::start(options, error);
    if (eal == nullptr) return fail(error);
    Agent agent;
    CompressDevices devices;
    std::vector<std::unique_ptr<Port>> far_ends;
    if (!Eal::open_ports(options, agent.ports, far_ends, error) || !make_cores(options, agent, devices, error))
        return fail(error);
    for (auto& end : far_ends)
        for (std::uint16_t lane = 0; lane < end->lanes(); ++lane)
            agent.cores[lane % agent.cores.size()]->reflect(end->lane(lane));
    if (options.describe) {
        describe(agent);
        return 0;
    }
    if (options.check) {
        std::printf("%zu ports, compression %s, %s\n", agent.ports.size(),
                    agent.compression.empty() ? "none" : agent.compression.c_str(), reduce_target());
        agent.cores.clear();
        agent.ports.clear();
        return 0;
    }
    if (options.reflect) {
        std::printf("ready\n");
        std::fflush(stdout);
        reflect_all(agent, stop.get());
        agent.cores.clear();
        agent.ports.clear();
        return 0;
    }
    unsigned lcore = 0;
    for (auto& core : agent.cores) rte_eal_remote_launch(work, core.get(), ++lcore);
    int outcome = 0;
    {
        Control control(agent);
        if (options.take_over ? control.take_over(options.socket, error)
                              : control.listen(options.socket, options.mode, error)) {
            std::printf("ready %s\n", options.socket.c_str());
            std::fflush(stdout);
            control.run(stop.get());
        } else {
            outcome = fail(error);
        }
    }
    for (auto& core : agent.cores) core->stop();
    rte_eal_mp_wait_lcore();
    for (const auto& core : agent.cores) core->join();
    agent.cores.clear();
    agent.ports.clear();
    return outcome;
}

}  // namespace

int main(int count, char** arguments) {
    Options options;
    std::string error;
    bool help = false;
    if (!Options::parse(count, arguments, options, error, help)) return fail(error);
    if (help) {
        std::fputs(Options::usage(), stdout);
        return 0;
    }
    return serve(options);
}
