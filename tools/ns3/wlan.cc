// Stations of 802.11g, n, ac or ax in ns-3 3.37 that send datagrams to neighbours. Prints a line of JSON.
//
// tools/beside_ns3.py builds and runs it. `--help` lists its options; any attribute of ns-3 can be set too, such as
// `--ns3::WifiMacQueue::MaxDelay=10s`. Everything that has neither an option nor a line here is ns-3's default.
#include "shared.h"

#include "ns3/applications-module.h"
#include "ns3/channel-access-manager.h"
#include "ns3/frame-exchange-manager.h"
#include "ns3/propagation-module.h"

#include <cstdio>

namespace {

bool resetsNav = true;

struct Flow {
    uint32_t from, to;
    double start; // s
    Ptr<PacketSink> sink;
    uint64_t early = 0; // bytes before the end of the warm-up
};

// What the command line says.
struct Options {
    std::string positions, flows, standard = "802.11n", rate = "HtMcs7", control = "OfdmRate24Mbps", rts = "off",
                                  errors = "nist";
    uint32_t aifsn = 3, size = 1460, seed = 1, width = 20, streams = 1, guard = 800, ampdu = 65'535;
    bool isChain = false, resetsNav = true;
    double kbps = 10'000, duration = 10, warmup = 2;
    double minimumRssi = -82, power = 16.0206, noiseFigure = 7, exponent = 3, referenceLoss = 46.6777;

    bool has24Ghz() const { return standard == "802.11g"; }

    void read(int argc, char **argv) {
        CommandLine line(__FILE__);
        line.AddValue("positions", "X,Y of each node, separated by colons (m)", positions);
        line.AddValue("flows", "FROM-TO@START of each flow, separated by colons", flows);
        line.AddValue("standard", "802.11g, 802.11n, 802.11ac or 802.11ax", standard);
        line.AddValue("width", "channel width (MHz)", width);
        line.AddValue("streams", "most spatial streams", streams);
        line.AddValue("guard", "guard interval of 802.11n, ac (400, 800) and ax (800, 1600, 3200) (ns)", guard);
        line.AddValue("rate", "mode of data as ns-3 names it, or minstrel", rate);
        line.AddValue("control", "mode of control frames", control);
        line.AddValue("ampdu", "most bytes of an A-MPDU; 0: none", ampdu);
        line.AddValue("rts", "on or off", rts);
        line.AddValue("nav-reset", "a NAV that an RTS has set ends early if no frame follows the RTS", resetsNav);
        line.AddValue("errors", "error curves: nist, yans, table", errors);
        line.AddValue("minimum-rssi", "weakest preamble that a receiver notices (dBm)", minimumRssi);
        line.AddValue("power", "transmitted, antennas included (dBm)", power);
        line.AddValue("noise-figure", "of receivers (dB)", noiseFigure);
        line.AddValue("exponent", "of the log-distance path loss", exponent);
        line.AddValue("reference-loss", "path loss at 1 m (dB)", referenceLoss);
        line.AddValue("chain", "packets go from node to node in the order of their numbers", isChain);
        line.AddValue("aifsn", "AIFSN of best effort", aifsn);
        line.AddValue("size", "bytes of a datagram", size);
        line.AddValue("kbps", "datagrams at this rate in each flow", kbps);
        line.AddValue("duration", "simulated seconds", duration);
        line.AddValue("warmup", "seconds that do not count", warmup);
        line.AddValue("seed", "number of the run", seed);
        line.Parse(argc, argv);
    }
};

WifiStandard standardOf(const Options &options) {
    const std::map<std::string, WifiStandard> standards{{"802.11g", WIFI_STANDARD_80211g},
                                                        {"802.11n", WIFI_STANDARD_80211n},
                                                        {"802.11ac", WIFI_STANDARD_80211ac},
                                                        {"802.11ax", WIFI_STANDARD_80211ax}};
    return standards.at(options.standard);
}

// The channel around channel 36, or channel 1 in the 2.4 GHz band.
std::string channelOf(const Options &options) {
    if (options.has24Ghz()) {
        return "{1, 20, BAND_2_4GHZ, 0}";
    }
    const std::map<uint32_t, uint32_t> numbers{{20, 36}, {40, 38}, {80, 42}, {160, 50}};
    return "{" + std::to_string(numbers.at(options.width)) + ", " + std::to_string(options.width) + ", BAND_5GHZ, 0}";
}

NetDeviceContainer installRadios(const NodeContainer &nodes, const Options &options) {
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::LogDistancePropagationLossModel", "Exponent", DoubleValue(options.exponent),
                               "ReferenceLoss", DoubleValue(options.referenceLoss));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings", StringValue(channelOf(options)));
    phy.Set("TxPowerStart", DoubleValue(options.power));
    phy.Set("TxPowerEnd", DoubleValue(options.power));
    phy.Set("RxNoiseFigure", DoubleValue(options.noiseFigure));
    for (const char *name : {"Antennas", "MaxSupportedTxSpatialStreams", "MaxSupportedRxSpatialStreams"}) {
        phy.Set(name, UintegerValue(options.streams));
    }
    const std::map<std::string, std::string> curves{{"nist", "ns3::NistErrorRateModel"},
                                                    {"yans", "ns3::YansErrorRateModel"},
                                                    {"table", "ns3::TableBasedErrorRateModel"}};
    phy.SetErrorRateModel(curves.at(options.errors));
    WifiHelper wifi;
    wifi.SetStandard(standardOf(options));
    if (options.rate == "minstrel") {
        const bool isHt = options.standard != "802.11g";
        wifi.SetRemoteStationManager(isHt ? "ns3::MinstrelHtWifiManager" : "ns3::MinstrelWifiManager");
    } else {
        wifi.SetRemoteStationManager("LimitedRts", "DataMode", StringValue(options.rate),
                                     "ControlMode", StringValue(options.control));
    }
    if (options.standard != "802.11g") {
        wifi.ConfigHtOptions("ShortGuardIntervalSupported", BooleanValue(options.guard == 400));
    }
    if (options.standard == "802.11ax") {
        wifi.ConfigHeOptions("GuardInterval", TimeValue(NanoSeconds(options.guard)), "MpduBufferSize",
                             UintegerValue(256));
    }
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(true), "BE_MaxAmpduSize",
                UintegerValue(options.ampdu));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    for (uint32_t i = 0; i < devices.GetN(); ++i) {
        DynamicCast<WifiNetDevice>(devices.Get(i))->GetMac()->GetQosTxop(AC_BE)->SetAifsn(options.aifsn);
    }
    return devices;
}

// Packets go from node to node in the order of their numbers.
void addRoutes(const NodeContainer &nodes, const Ipv4InterfaceContainer &addresses) {
    Ipv4StaticRoutingHelper helper;
    for (uint32_t from = 0; from < nodes.GetN(); ++from) {
        Ptr<Ipv4StaticRouting> table = helper.GetStaticRouting(nodes.Get(from)->GetObject<Ipv4>());
        for (uint32_t to = 0; to < nodes.GetN(); ++to) {
            if (to != from) {
                const uint32_t next = to > from ? from + 1 : from - 1;
                table->AddHostRouteTo(addresses.GetAddress(to), addresses.GetAddress(next), 1);
            }
        }
    }
}

std::vector<Flow> addFlows(const NodeContainer &nodes, const Ipv4InterfaceContainer &addresses,
                           const Options &options) {
    const std::string kind = "ns3::UdpSocketFactory";
    std::vector<Flow> flows;
    for (std::istringstream &one : split(options.flows)) {
        Flow flow;
        char separator;
        one >> flow.from >> separator >> flow.to >> separator >> flow.start;
        const uint16_t port = 5000 + flows.size();
        PacketSinkHelper sink(kind, InetSocketAddress(Ipv4Address::GetAny(), port));
        flow.sink = sink.Install(nodes.Get(flow.to)).Get(0)->GetObject<PacketSink>();
        OnOffHelper sender(kind, InetSocketAddress(addresses.GetAddress(flow.to), port));
        sender.SetConstantRate(DataRate(static_cast<uint64_t>(options.kbps * 1000)), options.size);
        sender.Install(nodes.Get(flow.from)).Start(Seconds(flow.start));
        flows.push_back(flow);
    }
    return flows;
}

// Frames by kind, and the MPDUs in frames of data: all, by their mode and streams, and by the node that sends them.
struct Counters {
    Counts counts, modes, nodes;

    void frame(std::string node, WifiConstPsduMap frames, WifiTxVector vector, double) {
        const auto &psdu = frames.begin()->second;
        const std::string kind = kindOf(psdu->GetHeader(0));
        ++counts[kind];
        if (kind == "data") {
            counts["mpdu"] += psdu->GetNMpdus();
            nodes[node] += psdu->GetNMpdus();
            const uint32_t streams = vector.GetNss();
            const std::string suffix = streams > 1 ? "x" + std::to_string(streams) : "";
            modes[vector.GetMode().GetUniqueName() + suffix] += psdu->GetNMpdus();
        }
    }
};

} // namespace

// A station may end the NAV that an RTS has set if no frame follows the RTS (IEEE 802.11-2020, 10.3.2.4). ns-3 always does so and
// has no attribute for it. This definition takes the place of the library's own.
void ns3::FrameExchangeManager::NavResetTimeout() {
    if (resetsNav) {
        m_navEnd = Simulator::Now();
        m_channelAccessManager->NotifyNavResetNow(Seconds(0));
    }
}

int main(int argc, char **argv) {
    Options options;
    options.read(argc, argv);
    resetsNav = options.resetsNav;
    const uint32_t threshold = options.rts == "on" ? 0 : 4'692'480;
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(threshold));
    Config::SetDefault("ns3::ThresholdPreambleDetectionModel::MinimumRssi", DoubleValue(options.minimumRssi));
    Config::SetDefault("ns3::WifiPhy::RxSensitivity", DoubleValue(options.minimumRssi - 10));
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
    if (options.isChain) {
        addRoutes(nodes, addresses);
    }
    std::vector<Flow> flows = addFlows(nodes, addresses, options);
    Counters counters;
    for (uint32_t i = 0; i < devices.GetN(); ++i) {
        auto phy = DynamicCast<WifiNetDevice>(devices.Get(i))->GetPhy();
        phy->TraceConnect("PhyTxPsduBegin", std::to_string(i), MakeCallback(&Counters::frame, &counters));
    }

    Simulator::Schedule(Seconds(options.warmup), [&] {
        for (Flow &flow : flows) {
            flow.early = flow.sink->GetTotalRx();
        }
        counters.counts.clear();
        counters.modes.clear();
        counters.nodes.clear();
    });
    Simulator::Stop(Seconds(options.duration));
    Simulator::Run();

    std::string each;
    for (const Flow &flow : flows) {
        const double kbps = (flow.sink->GetTotalRx() - flow.early) * 8e-3 / (options.duration - options.warmup);
        each += (each.empty() ? "" : ", ") + std::to_string(kbps);
    }
    std::printf("{\"kbps\": [%s], \"counts\": {%s}, \"modes\": {%s}, \"nodes\": {%s}}\n", each.c_str(),
                json(counters.counts).c_str(), json(counters.modes).c_str(), json(counters.nodes).c_str());
    Simulator::Destroy();
}
