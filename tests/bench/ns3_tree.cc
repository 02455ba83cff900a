// SPDX-License-Identifier: Apache-2.0
// UDP flows through a tree of point-to-point links in ns-3; the yardstick of test_packets_ns3.py.
//
// Standard input: levels, the nodes below and above those of each level (offramp_sim.packets.topology), bits per second,
// nanoseconds of delay, payload, hosts; then sink and packets of each host's flow. Standard output: packets received,
// seconds of Simulator::Run, and when each flow ended. Sources send back to back. Routes are computed, not looked up:
// the tables of ns-3 are searched from the first entry to the last, which would cost it far more.
#include <ctime>
#include <iostream>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

constexpr uint32_t kNetwork = 0x0A000000u;

class TreeRouting : public Ipv4RoutingProtocol {
 public:
  uint32_t low = 0, span = 0, divisor = 1, downs = 0, ups = 0, level = 0;

  Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>, Socket::SocketErrno& error) override {
    error = Socket::ERROR_NOTERROR;
    return By(1);
  }

  bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice>,
                  const UnicastForwardCallback& forward, const MulticastForwardCallback&,
                  const LocalDeliverCallback& deliver, const ErrorCallback&) override {
    if (downs == 0) {
      deliver(packet, header, 1);
      return true;
    }
    uint32_t to = HostOf(header.GetDestination()) - low;
    uint32_t interface = 1 + to / divisor;
    if (to >= span) {
      uint64_t choice = (uint64_t(HostOf(header.GetSource())) + 1) * 0x9E3779B97F4A7C15ull;
      if (level > 0) choice = (choice ^ (choice >> 29)) * 0xBF58476D1CE4E5B9ull;
      interface = 1 + downs + (choice >> 33) % ups;
    }
    forward(By(interface), packet, header);
    return true;
  }

  void NotifyInterfaceUp(uint32_t) override {}
  void NotifyInterfaceDown(uint32_t) override {}
  void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void SetIpv4(Ptr<Ipv4> given) override { ipv4_ = given; }
  void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

 private:
  static uint32_t HostOf(Ipv4Address address) { return (address.Get() - kNetwork) >> 2; }

  const Ptr<Ipv4Route>& By(uint32_t interface) {
    for (uint32_t i = routes_.size(); i < ipv4_->GetNInterfaces(); ++i) {
      auto route = Create<Ipv4Route>();
      route->SetOutputDevice(ipv4_->GetNetDevice(i));
      route->SetGateway(Ipv4Address::GetZero());
      route->SetSource(ipv4_->GetAddress(i, 0).GetLocal());
      routes_.push_back(route);
    }
    return routes_[interface];
  }

  Ptr<Ipv4> ipv4_;
  std::vector<Ptr<Ipv4Route>> routes_;
};

std::vector<double> finish;
std::vector<uint64_t> received;

void Received(uint32_t flow, Ptr<const Packet>) {
  ++received[flow];
  finish[flow] = Simulator::Now().GetSeconds();
}

}  // namespace

int main() {
  uint32_t height, payload, hosts;
  uint64_t rate, delay;
  std::cin >> height;
  std::vector<uint32_t> below(height), above(height);
  for (auto& each : below) std::cin >> each;
  for (auto& each : above) std::cin >> each;
  std::cin >> rate >> delay >> payload >> hosts;
  Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("10000000p"));

  std::vector<uint32_t> ways{1}, spans{1}, first{0}, counts;
  for (uint32_t level = 0; level < height; ++level) {
    ways.push_back(ways.back() * above[level]);
    spans.push_back(spans.back() * below[level]);
  }
  for (uint32_t level = 0; level <= height; ++level) {
    counts.push_back(hosts / spans[level] * ways[level]);
    first.push_back(first.back() + counts.back());
  }
  NodeContainer nodes;
  nodes.Create(first.back());
  InternetStackHelper stack;
  stack.SetIpv6StackInstall(false);
  stack.Install(nodes);
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
  link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
  Ipv4AddressHelper address;
  std::vector<Ipv4Address> where;
  uint32_t links = 0;
  for (uint32_t level = 0; level < height; ++level) {
    for (uint32_t number = 0; number < counts[level]; ++number) {
      uint32_t tree = number / ways[level], way = number % ways[level];
      for (uint32_t turn = 0; turn < above[level]; ++turn) {
        uint32_t over = tree / below[level] * ways[level + 1] + way + turn * ways[level];
        auto ends = link.Install(nodes.Get(first[level] + number), nodes.Get(first[level + 1] + over));
        address.SetBase(Ipv4Address(kNetwork + 4 * links++), Ipv4Mask("255.255.255.252"));
        auto given = address.Assign(ends);
        if (level == 0) where.push_back(given.GetAddress(0));
        TrafficControlHelper().Uninstall(ends);
      }
    }
  }
  for (uint32_t level = 0; level <= height; ++level) {
    for (uint32_t number = 0; number < counts[level]; ++number) {
      auto routing = CreateObject<TreeRouting>();
      routing->span = spans[level];
      routing->low = number / ways[level] * spans[level];
      routing->downs = level > 0 ? below[level - 1] : 0;
      routing->divisor = level > 0 ? spans[level - 1] : 1;
      routing->ups = level < height ? above[level] : 0;
      routing->level = level > 0 ? level - 1 : 0;
      nodes.Get(first[level] + number)->GetObject<Ipv4>()->SetRoutingProtocol(routing);
    }
  }

  finish.resize(hosts);
  received.resize(hosts);
  uint64_t gap_ps = uint64_t(payload + 30) * 8 * 1'000'000'000'000 / rate;  // UDP, IPv4 and PPP
  for (uint32_t source = 0; source < hosts; ++source) {
    uint32_t sink, packets;
    std::cin >> sink >> packets;
    uint16_t port = 1000 + source;
    auto server = UdpServerHelper(port).Install(nodes.Get(sink)).Get(0);
    server->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, source));
    UdpClientHelper client(where[sink], port);
    client.SetAttribute("MaxPackets", UintegerValue(packets));
    client.SetAttribute("Interval", TimeValue(PicoSeconds(gap_ps)));
    client.SetAttribute("PacketSize", UintegerValue(payload));
    client.Install(nodes.Get(source));
  }
  Simulator::Stop(Seconds(1));
  std::clock_t begun = std::clock();
  Simulator::Run();
  double seconds = double(std::clock() - begun) / CLOCKS_PER_SEC;
  uint64_t all = 0;
  for (uint64_t each : received) all += each;
  std::cout.precision(12);
  std::cout << all << ' ' << seconds;
  for (double each : finish) std::cout << ' ' << each;
  std::cout << std::endl;
}
