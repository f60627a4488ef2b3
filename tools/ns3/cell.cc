// Stations around a receiver in ns-3 3.37, with 802.11n and A-MPDUs: saturated datagrams. Prints a line of JSON.
//
// tools/beside_ns3.py builds and runs it. `--help` lists its options; any attribute of ns-3 can be set too, such as
// `--ns3::WifiMacQueue::MaxDelay=10s`. Everything that has neither an option nor a line here is ns-3's default.
#include "shared.h"

#include "ns3/applications-module.h"

#include <cstdio>

namespace {

// What the command line says.
struct Options {
    std::string positions;
    uint32_t aifsn = 3, size = 1460, seed = 1;
    double kbps = 10'000, duration = 10, warmup = 2;

    void read(int argc, char **argv) {
        CommandLine line(__FILE__);
        line.AddValue("positions", "X,Y of each node, separated by colons (m); the first one receives", positions);
        line.AddValue("aifsn", "AIFSN of best effort", aifsn);
        line.AddValue("size", "bytes of a datagram", size);
        line.AddValue("kbps", "datagrams at this rate from each station", kbps);
        line.AddValue("duration", "simulated seconds", duration);
        line.AddValue("warmup", "seconds that do not count", warmup);
        line.AddValue("seed", "number of the run", seed);
        line.Parse(argc, argv);
    }
};

NetDeviceContainer installRadios(const NodeContainer &nodes, const Options &options) {
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211n);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("HtMcs7"), "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(true), "BE_MaxAmpduSize", UintegerValue(65535));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    for (uint32_t i = 0; i < devices.GetN(); ++i) {
        DynamicCast<WifiNetDevice>(devices.Get(i))->GetMac()->GetQosTxop(AC_BE)->SetAifsn(options.aifsn);
    }
    return devices;
}

// Each station but the first sends to the first one. Starts differ, so that they do not collide for ever.
Ptr<PacketSink> addFlows(const NodeContainer &nodes, Ipv4Address receiver, const Options &options) {
    const std::string kind = "ns3::UdpSocketFactory";
    const uint16_t port = 5000;
    PacketSinkHelper sink(kind, InetSocketAddress(Ipv4Address::GetAny(), port));
    OnOffHelper sender(kind, InetSocketAddress(receiver, port));
    sender.SetConstantRate(DataRate(static_cast<uint64_t>(options.kbps * 1000)), options.size);
    for (uint32_t i = 1; i < nodes.GetN(); ++i) {
        sender.Install(nodes.Get(i)).Start(Seconds(1 + 0.0011 * i));
    }
    return sink.Install(nodes.Get(0)).Get(0)->GetObject<PacketSink>();
}

// Frames by kind, and the MPDUs in frames of data.
struct Counters {
    Counts counts;

    void frame(WifiConstPsduMap frames, WifiTxVector, double) {
        const auto &psdu = frames.begin()->second;
        const std::string kind = kindOf(psdu->GetHeader(0));
        ++counts[kind];
        if (kind == "data") {
            counts["mpdu"] += psdu->GetNMpdus();
        }
    }
};

} // namespace

int main(int argc, char **argv) {
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(999'999));
    Options options;
    options.read(argc, argv);
    RngSeedManager::SetRun(options.seed);

    NodeContainer nodes;
    nodes.Create(split(options.positions).size());
    place(nodes, options.positions);
    NetDeviceContainer devices = installRadios(nodes, options);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper numbers;
    numbers.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer addresses = numbers.Assign(devices);
    fillArp(devices, addresses);
    Ptr<PacketSink> sink = addFlows(nodes, addresses.GetAddress(0), options);
    Counters counters;
    for (uint32_t i = 0; i < devices.GetN(); ++i) {
        auto phy = DynamicCast<WifiNetDevice>(devices.Get(i))->GetPhy();
        phy->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&Counters::frame, &counters));
    }

    uint64_t early = 0; // bytes before the end of the warm-up
    Simulator::Schedule(Seconds(options.warmup), [&] {
        early = sink->GetTotalRx();
        counters.counts.clear();
    });
    Simulator::Stop(Seconds(options.duration));
    Simulator::Run();

    const double kbps = (sink->GetTotalRx() - early) * 8e-3 / (options.duration - options.warmup);
    std::printf("{\"kbps\": [%.3f], \"counts\": {%s}}\n", kbps, json(counters.counts).c_str());
    Simulator::Destroy();
}
