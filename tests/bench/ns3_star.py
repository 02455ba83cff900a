# SPDX-License-Identifier: Apache-2.0
"""Runs inside an interpreter that has the ns3 wheel: UDP flows through a star of point-to-point links.

Reads JSON on standard input: ``hosts``, ``rate_bps``, ``delay_ns``, ``payload`` and ``flows`` (source, sink, packets).
Every source sends its packets back to back. Writes JSON: ``finish_s`` (zeros unless ``watch``), ``seconds``,
``received``.
"""

import json
import sys
import time

from ns import ns

job = json.load(sys.stdin)
n, payload = job["hosts"], job["payload"]
link_bytes = payload + 30  # UDP, IPv4, PPP
ns.Config.SetDefault("ns3::DropTailQueue<Packet>::MaxSize", ns.QueueSizeValue(ns.QueueSize("1000000p")))
nodes = ns.NodeContainer()
nodes.Create(n + 1)
ns.InternetStackHelper().Install(nodes)
p2p = ns.PointToPointHelper()
p2p.SetDeviceAttribute("DataRate", ns.StringValue(f"{job['rate_bps']}bps"))
p2p.SetChannelAttribute("Delay", ns.StringValue(f"{job['delay_ns']}ns"))
address = ns.Ipv4AddressHelper()
where = []
for i in range(n):
    devices = p2p.Install(nodes.Get(i), nodes.Get(n))
    address.SetBase(ns.Ipv4Address(f"10.0.{i}.0"), ns.Ipv4Mask("255.255.255.0"))
    where.append(address.Assign(devices).GetAddress(0))
    ns.TrafficControlHelper().Uninstall(devices)
ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
gap_ps = link_bytes * 8 * 10**12 // job["rate_bps"]
servers = []
for number, (source, sink, packets) in enumerate(job["flows"]):
    port = 1000 + number
    servers.append(ns.UdpServerHelper(port).Install(nodes.Get(sink)))
    client = ns.UdpClientHelper(where[sink].ConvertTo(), port)
    client.SetAttribute("MaxPackets", ns.UintegerValue(packets))
    client.SetAttribute("Interval", ns.TimeValue(ns.PicoSeconds(gap_ps)))
    client.SetAttribute("PacketSize", ns.UintegerValue(payload))
    client.Install(nodes.Get(source))
helper = ns.FlowMonitorHelper()
if job["watch"]:
    monitor = helper.InstallAll()
ns.Simulator.Stop(ns.Seconds(job["stop_s"]))
begun = time.process_time()
ns.Simulator.Run()
seconds = time.process_time() - begun
finish = [0.0] * len(job["flows"])
if job["watch"]:
    monitor.CheckForLostPackets()
    for flow_id, stats in monitor.GetFlowStats():
        finish[int(flow_id) - 1] = stats.timeLastRxPacket.GetSeconds()
received = sum(int(s.Get(0).GetObject[ns.UdpServer]().__deref__().GetReceived()) for s in servers)
sys.stdout.write(json.dumps({"finish_s": finish, "seconds": seconds, "received": received}))
