// SPDX-License-Identifier: Apache-2.0
// UDP flows through any network of point-to-point links in ns-3; the yardstick of test_fabrics_ns3.py.
//
// Standard input: nodes, hosts (the first nodes), links; for each link its two nodes, bits per second, nanoseconds of
// delay; for each node, by host, the number of the link to it, or the number of links where there is none; payload,
// flows; for each flow source, sink, packets and nanoseconds of its start. Standard output: packets received, bytes that
// each link carried from its first node to its second and back, and when each flow ended.
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

std::map<uint32_t, uint32_t> host_of;  // by address

class TableRouting : public Ipv4RoutingProtocol {
 public:
  std::vector<uint32_t> interface;  // by host
  uint32_t own = ~0u;

  Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>,
                             Socket::SocketErrno& error) override {
    error = Socket::ERROR_NOTERROR;
    return By(interface[host_of.at(header.GetDestination().Get())]);
  }

  bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice>,
                  const UnicastForwardCallback& forward, const MulticastForwardCallback&,
                  const LocalDeliverCallback& deliver, const ErrorCallback&) override {
    uint32_t to = host_of.at(header.GetDestination().Get());
    if (to == own) {
      deliver(packet, header, 1);
    } else {
      forward(By(interface[to]), packet, header);
    }
    return true;
  }

  void NotifyInterfaceUp(uint32_t) override {}
  void NotifyInterfaceDown(uint32_t) override {}
  void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void SetIpv4(Ptr<Ipv4> given) override { ipv4_ = given; }
  void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

 private:
  Ptr<Ipv4Route> By(uint32_t number) {
    auto route = Create<Ipv4Route>();
    route->SetOutputDevice(ipv4_->GetNetDevice(number));
    route->SetGateway(Ipv4Address::GetZero());
    route->SetSource(ipv4_->GetAddress(number, 0).GetLocal());
    return route;
  }

  Ptr<Ipv4> ipv4_;
};

std::vector<double> finish;
std::vector<uint64_t> received, carried;

void Received(uint32_t flow, Ptr<const Packet>) {
  ++received[flow];
  finish[flow] = Simulator::Now().GetSeconds();
}

void Sent(uint32_t link, Ptr<const Packet> packet) { carried[link] += packet->GetSize(); }

}  // namespace

int main() {
  uint32_t count, hosts, links;
  std::cin >> count >> hosts >> links;
  Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("10000000p"));
  NodeContainer nodes;
  nodes.Create(count);
  InternetStackHelper stack;
  stack.SetIpv6StackInstall(false);
  stack.Install(nodes);
  std::vector<Ipv4Address> where(hosts);
  std::vector<std::map<uint32_t, uint32_t>> interface(count);  // of each node, by link
  std::vector<uint64_t> rate_of_host(hosts);
  carried.resize(2 * links);
  for (uint32_t number = 0; number < links; ++number) {
    uint32_t a, b;
    uint64_t rate, delay;
    std::cin >> a >> b >> rate >> delay;
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
    auto ends = link.Install(nodes.Get(a), nodes.Get(b));
    Ipv4AddressHelper address(Ipv4Address(0x0A000000u + 4 * number), Ipv4Mask("255.255.255.252"));
    auto given = address.Assign(ends);
    TrafficControlHelper().Uninstall(ends);
    for (uint32_t k : {0u, 1u}) {
      uint32_t node = k ? b : a;
      interface[node][number] = given.Get(k).second;
      ends.Get(k)->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&Sent, 2 * number + k));
      if (node < hosts) {
        where[node] = given.GetAddress(k);
        host_of[given.GetAddress(k).Get()] = node;
        rate_of_host[node] = rate;
      }
    }
  }
  for (uint32_t node = 0; node < count; ++node) {
    auto routing = CreateObject<TableRouting>();
    routing->own = node;
    for (uint32_t host = 0; host < hosts; ++host) {
      uint32_t link;
      std::cin >> link;
      routing->interface.push_back(link < links ? interface[node].at(link) : 0);
    }
    nodes.Get(node)->GetObject<Ipv4>()->SetRoutingProtocol(routing);
  }
  uint32_t payload, flows;
  std::cin >> payload >> flows;
  finish.resize(flows);
  received.resize(flows);
  for (uint32_t flow = 0; flow < flows; ++flow) {
    uint32_t source, sink, packets;
    uint64_t start;
    std::cin >> source >> sink >> packets >> start;
    uint16_t port = 1000 + flow;
    auto server = UdpServerHelper(port).Install(nodes.Get(sink)).Get(0);
    server->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, flow));
    UdpClientHelper client(where[sink], port);
    uint64_t gap_ps = uint64_t(payload + 30) * 8 * 1'000'000'000'000 / rate_of_host[source];  // UDP, IPv4 and PPP
    client.SetAttribute("MaxPackets", UintegerValue(packets));
    client.SetAttribute("Interval", TimeValue(PicoSeconds(gap_ps)));
    client.SetAttribute("PacketSize", UintegerValue(payload));
    client.Install(nodes.Get(source)).Get(0)->SetStartTime(NanoSeconds(start));
  }
  Simulator::Stop(Seconds(10));
  Simulator::Run();
  uint64_t all = 0;
  for (uint64_t each : received) all += each;
  std::cout.precision(12);
  std::cout << all;
  for (uint64_t each : carried) std::cout << ' ' << each;
  for (double each : finish) std::cout << ' ' << each;
  std::cout << std::endl;
}
