// One network of 802.11a or 802.11b in ns-3 3.37, set as tools/beside_ns3.py sets multihop; prints a line of JSON.
//
// tools/beside_ns3.py builds and runs it. `--help` lists its options; any attribute of ns-3 can be set too, such as
// `--ns3::aodv::RoutingProtocol::EnableHello=true`.
#include "shared.h"

#include "ns3/aodv-module.h"
#include "ns3/applications-module.h"
#include "ns3/olsr-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <cstdio>
#include <deque>
#include <sys/resource.h>

namespace {

constexpr double TX_DBM = 24.5;
constexpr double HEIGHT = 1.5;       // m
constexpr double FREQUENCY = 914e6;  // Hz
constexpr double RANGE = 250;        // m
constexpr double SENSE_RANGE = 550;  // m
constexpr double NOISE_DBM = -93.96; // kTB over 20 MHz, and a noise figure of 7 dB
constexpr uint32_t MSS = 1460;       // bytes
constexpr uint32_t WINDOW = 20;      // segments
constexpr uint32_t QUEUE = 50;       // packets
constexpr uint16_t AODV_PORT = 654;
constexpr char MASK[] = "255.255.0.0";

// Received power under the two-ray law, dBm; `metres` must be beyond its crossover at 86 m.
double powerAt(double metres) { return TX_DBM + 40 * std::log10(HEIGHT / metres); }

struct Flow {
    uint32_t from, to;
    double start; // s
    Ptr<PacketSink> sink;
    uint64_t early = 0; // bytes before the end of the warm-up
};

// What the command line says.
struct Options {
    std::string phy = "802.11a", rate = "6", positions, movement, flows, routing = "static", errors = "nist";
    uint32_t nodes = 0, seed = 1;
    double kbps = 0, duration = 20, warmup = 1;
    bool count = false, apart = false;

    bool isDsss() const { return phy == "802.11b"; }
    std::string mode(const std::string &mbps) const { return (isDsss() ? "DsssRate" : "OfdmRate") + mbps + "Mbps"; }

    void read(int argc, char **argv) {
        CommandLine line(__FILE__);
        line.AddValue("phy", "802.11a or 802.11b", phy);
        line.AddValue("rate", "bit rate of data: 6, 9, 12, 18, 24, 36, 48, 54, or 1, 2, 5_5, 11 (Mb/s)", rate);
        line.AddValue("positions", "X,Y of each node, separated by colons (m)", positions);
        line.AddValue("movement", "an ns-2 script, in place of positions", movement);
        line.AddValue("nodes", "number of nodes in the script", nodes);
        line.AddValue("flows", "FROM-TO@START of each flow, separated by colons", flows);
        line.AddValue("kbps", "datagrams at this rate for each flow; 0: TCP", kbps);
        line.AddValue("routing", "static, aodv or olsr", routing);
        line.AddValue("apart", "under OLSR, other emission intervals for each node, with the means of RFC 3626", apart);
        line.AddValue("errors", "error curves: nist, yans, table", errors);
        line.AddValue("duration", "simulated seconds", duration);
        line.AddValue("warmup", "seconds that no goodput counts", warmup);
        line.AddValue("seed", "number of the run", seed);
        line.AddValue("count", "count frames and messages too, which takes time", count);
        line.Parse(argc, argv);
    }
};

// The values that the command line may change. Those that ns-3 has by default are not repeated.
void setDefaults() {
    auto number = [](const char *name, double value) { Config::SetDefault(name, DoubleValue(value)); };
    auto whole = [](const char *name, uint32_t value) { Config::SetDefault(name, UintegerValue(value)); };
    auto off = [](const char *name) { Config::SetDefault(name, BooleanValue(false)); };
    auto seconds = [](const char *name, double value) { Config::SetDefault(name, TimeValue(Seconds(value))); };
    auto text = [](const char *name, const char *value) { Config::SetDefault(name, StringValue(value)); };

    // A hundredth of a decibel keeps nodes at exactly 250 and 550 m in range.
    const double sense = powerAt(SENSE_RANGE) - 0.01;
    number("ns3::ThresholdPreambleDetectionModel::MinimumRssi", powerAt(RANGE) - 0.01);
    number("ns3::WifiPhy::CcaEdThreshold", sense);
    number("ns3::WifiPhy::CcaSensitivity", sense);
    // A frame below the sensitivity is not even interference. Ours ignores what is 10 dB below the noise.
    number("ns3::WifiPhy::RxSensitivity", NOISE_DBM - 10);
    number("ns3::WifiPhy::TxPowerStart", TX_DBM);
    number("ns3::WifiPhy::TxPowerEnd", TX_DBM);
    number("ns3::TwoRayGroundPropagationLossModel::Frequency", FREQUENCY);
    number("ns3::TwoRayGroundPropagationLossModel::HeightAboveZ", HEIGHT);

    whole("ns3::WifiRemoteStationManager::RtsCtsThreshold", 0);
    whole("ns3::WifiRemoteStationManager::MaxSlrc", 4);
    // The MAC's queue holds the packet in service and the next one, the FIFO above it the others. None expires.
    text("ns3::WifiMacQueue::MaxSize", "2p");
    seconds("ns3::WifiMacQueue::MaxDelay", 1e6);

    text("ns3::TcpL4Protocol::SocketType", "ns3::TcpNewReno");
    text("ns3::TcpL4Protocol::RecoveryType", "ns3::TcpClassicRecovery");
    off("ns3::TcpSocketBase::Sack");
    off("ns3::TcpSocketBase::Timestamp");
    seconds("ns3::TcpSocketBase::MinRto", 1);
    whole("ns3::TcpSocket::SegmentSize", MSS);
    whole("ns3::TcpSocket::InitialCwnd", 2);
    whole("ns3::TcpSocket::DelAckCount", 1);
    // A smaller receive buffer would do the same, but ns-3 3.37 crashes with it.
    whole("ns3::TcpSocket::SndBufSize", WINDOW * MSS);
    // Connections survive any outage.
    whole("ns3::TcpSocket::DataRetries", 1'000'000);
    whole("ns3::TcpSocket::ConnCount", 1'000'000);

    off("ns3::aodv::RoutingProtocol::EnableHello");
    off("ns3::aodv::RoutingProtocol::GratuitousReply");
    // Otherwise a neighbour that was heard once and then says nothing for 2 s counts as lost, even without HELLOs.
    whole("ns3::aodv::RoutingProtocol::AllowedHelloLoss", 1000);
}

NetDeviceContainer installRadios(const NodeContainer &nodes, const Options &options) {
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::TwoRayGroundPropagationLossModel");
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    const std::map<std::string, std::string> curves{{"nist", "ns3::NistErrorRateModel"},
                                                    {"yans", "ns3::YansErrorRateModel"},
                                                    {"table", "ns3::TableBasedErrorRateModel"}};
    phy.SetErrorRateModel(curves.at(options.errors));
    WifiHelper wifi;
    wifi.SetStandard(options.isDsss() ? WIFI_STANDARD_80211b : WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("LimitedRts", "DataMode", StringValue(options.mode(options.rate)), "ControlMode",
                                 StringValue(options.mode(options.isDsss() ? "1" : "6")));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    return wifi.Install(phy, mac, nodes);
}

// Routes with the fewest hops between nodes in range, from every node.
void addRoutes(const NodeContainer &nodes, const Ipv4InterfaceContainer &addresses) {
    auto near = [&](uint32_t a, uint32_t b) {
        return nodes.Get(a)->GetObject<MobilityModel>()->GetDistanceFrom(nodes.Get(b)->GetObject<MobilityModel>()) <=
               RANGE;
    };
    Ipv4StaticRoutingHelper helper;
    for (uint32_t from = 0; from < nodes.GetN(); ++from) {
        Ptr<Ipv4StaticRouting> table = helper.GetStaticRouting(nodes.Get(from)->GetObject<Ipv4>());
        std::map<uint32_t, uint32_t> first{{from, from}}; // the first hop towards each node that has been reached
        for (std::deque<uint32_t> frontier{from}; !frontier.empty(); frontier.pop_front()) {
            const uint32_t here = frontier.front();
            for (uint32_t next = 0; next < nodes.GetN(); ++next) {
                if (first.count(next) == 0 && near(here, next)) {
                    first[next] = here == from ? next : first[here];
                    frontier.push_back(next);
                    table->AddHostRouteTo(addresses.GetAddress(next), addresses.GetAddress(first[next]), 1);
                }
            }
        }
    }
}

std::vector<Flow> addFlows(const NodeContainer &nodes, const Ipv4InterfaceContainer &addresses,
                           const Options &options) {
    std::vector<Flow> flows;
    const std::string kind = options.kbps > 0 ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
    for (std::istringstream &one : split(options.flows)) {
        Flow flow;
        char separator;
        one >> flow.from >> separator >> flow.to >> separator >> flow.start;
        const uint16_t port = 5000 + flows.size();
        PacketSinkHelper sink(kind, InetSocketAddress(Ipv4Address::GetAny(), port));
        flow.sink = sink.Install(nodes.Get(flow.to)).Get(0)->GetObject<PacketSink>();
        const InetSocketAddress peer(addresses.GetAddress(flow.to), port);
        ApplicationContainer source;
        if (options.kbps > 0) {
            OnOffHelper sender(kind, peer);
            sender.SetConstantRate(DataRate(static_cast<uint64_t>(options.kbps * 1000)), MSS);
            source = sender.Install(nodes.Get(flow.from));
        } else {
            BulkSendHelper sender(kind, peer);
            sender.SetAttribute("SendSize", UintegerValue(MSS));
            source = sender.Install(nodes.Get(flow.from));
        }
        source.Start(Seconds(flow.start));
        flows.push_back(flow);
    }
    return flows;
}

// Gives each node its own emission intervals. Their means are those of RFC 3626, section 18.1, with jitter: the interval
// minus half of MAXJITTER (a quarter of the interval of HELLOs).
void spreadIntervals(const NodeContainer &nodes) {
    auto factor = CreateObject<UniformRandomVariable>();
    for (auto node = nodes.Begin(); node != nodes.End(); ++node) {
        auto agent = DynamicCast<olsr::RoutingProtocol>((*node)->GetObject<Ipv4>()->GetRoutingProtocol());
        const double f = factor->GetValue(0.95, 1.05);
        agent->SetAttribute("HelloInterval", TimeValue(Seconds(1.75 * f)));
        agent->SetAttribute("TcInterval", TimeValue(Seconds(4.75 * f)));
    }
}

// Frames and messages of AODV and OLSR by kind, and packets that the MAC gave up.
struct Counters {
    Counts counts;

    void observe(const NetDeviceContainer &devices) {
        for (uint32_t i = 0; i < devices.GetN(); ++i) {
            auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
            device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&Counters::frame, this));
            device->GetMac()->TraceConnectWithoutContext("MacTx", MakeCallback(&Counters::packet, this));
            device->GetMac()->TraceConnectWithoutContext("DroppedMpdu", MakeCallback(&Counters::dropped, this));
            auto ip = device->GetNode()->GetObject<Ipv4>();
            if (auto agent = DynamicCast<olsr::RoutingProtocol>(ip->GetRoutingProtocol())) {
                std::ostringstream address;
                address << ip->GetAddress(1, 0).GetLocal();
                agent->TraceConnect("Tx", address.str(), MakeCallback(&Counters::olsr, this));
            }
        }
    }

    void frame(WifiConstPsduMap frames, WifiTxVector, double) {
        ++counts[kindOf(frames.begin()->second->GetHeader(0))];
    }

    // A node sends a packet of OLSR; `address`: its own.
    void olsr(std::string address, const olsr::PacketHeader &, const olsr::MessageList &messages) {
        ++counts["packet"];
        for (const olsr::MessageHeader &message : messages) {
            const bool isOwn = message.GetOriginatorAddress() == Ipv4Address(address.c_str());
            const bool isHello = message.GetMessageType() == olsr::MessageHeader::HELLO_MESSAGE;
            ++counts[isHello ? "hello" : isOwn ? "tc" : "tc-forwarded"];
        }
    }

    void packet(Ptr<const Packet> packet) {
        Ptr<Packet> copy = packet->Copy();
        LlcSnapHeader llc;
        Ipv4Header ip;
        UdpHeader udp;
        copy->RemoveHeader(llc);
        copy->RemoveHeader(ip);
        if (ip.GetProtocol() != UdpL4Protocol::PROT_NUMBER) {
            return;
        }
        copy->RemoveHeader(udp);
        if (udp.GetDestinationPort() == AODV_PORT) {
            uint8_t kind = 0;
            copy->CopyData(&kind, 1);
            const bool toAll = ip.GetDestination().IsSubnetDirectedBroadcast(MASK);
            const std::map<uint8_t, std::string> names{{1, "request"}, {2, toAll ? "hello" : "reply"}, {3, "error"}};
            auto name = names.find(kind);
            ++counts[name == names.end() ? "reply-ack" : name->second];
        }
    }

    void dropped(WifiMacDropReason reason, Ptr<const WifiMpdu>) {
        ++counts[reason == WIFI_MAC_DROP_REACHED_RETRY_LIMIT ? "given up" : "other drop"];
    }
};

// Time in the processor, s.
double processor() {
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    auto seconds = [](const timeval &time) { return time.tv_sec + time.tv_usec * 1e-6; };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

} // namespace

int main(int argc, char **argv) {
    setDefaults();
    Options options;
    options.read(argc, argv);
    RngSeedManager::SetRun(options.seed);

    NodeContainer nodes;
    nodes.Create(options.movement.empty() ? split(options.positions).size() : options.nodes);
    if (options.movement.empty()) {
        place(nodes, options.positions);
    } else {
        Ns2MobilityHelper(options.movement).Install(nodes.Begin(), nodes.End());
    }
    NetDeviceContainer devices = installRadios(nodes, options);
    InternetStackHelper stack;
    if (options.routing == "aodv") {
        stack.SetRoutingHelper(AodvHelper());
    } else if (options.routing == "olsr") {
        stack.SetRoutingHelper(OlsrHelper());
    }
    stack.Install(nodes);
    if (options.apart) {
        spreadIntervals(nodes);
    }
    TrafficControlHelper queues;
    queues.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(std::to_string(QUEUE - 2) + "p"));
    queues.Install(devices);
    Ipv4AddressHelper numbers;
    numbers.SetBase("10.0.0.0", MASK);
    Ipv4InterfaceContainer addresses = numbers.Assign(devices);
    fillArp(devices, addresses);
    if (options.routing == "static") {
        addRoutes(nodes, addresses);
    }
    std::vector<Flow> flows = addFlows(nodes, addresses, options);
    Counters counters;
    if (options.count) {
        counters.observe(devices);
    }

    Simulator::Schedule(Seconds(options.warmup), [&] {
        for (Flow &flow : flows) {
            flow.early = flow.sink->GetTotalRx();
        }
        counters.counts.clear();
    });
    Simulator::Stop(Seconds(options.duration));
    const double before = processor();
    Simulator::Run();
    const double cpu = processor() - before;

    std::string each;
    for (const Flow &flow : flows) {
        const double kbps = (flow.sink->GetTotalRx() - flow.early) * 8e-3 / (options.duration - options.warmup);
        each += (each.empty() ? "" : ", ") + std::to_string(kbps);
    }
    std::printf("{\"cpu\": %.6f, \"events\": %llu, \"kbps\": [%s], \"counts\": {%s}}\n", cpu,
                static_cast<unsigned long long>(Simulator::GetEventCount()), each.c_str(), json(counters.counts).c_str());
    Simulator::Destroy();
}
