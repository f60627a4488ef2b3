// Parts that the programs of this folder share: lists on the command line, places, addresses, results.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

using Counts = std::map<std::string, uint64_t>;

// The parts of a list; ns-3 cuts a value of the command line off at the first space.
inline std::vector<std::istringstream> split(const std::string &list) {
    std::vector<std::istringstream> parts;
    std::istringstream all(list);
    for (std::string part; std::getline(all, part, ':');) {
        parts.emplace_back(part);
    }
    return parts;
}

// Places nodes at the X,Y of a list.
inline void place(const NodeContainer &nodes, const std::string &positions) {
    auto places = CreateObject<ListPositionAllocator>();
    for (std::istringstream &one : split(positions)) {
        double x, y;
        char comma;
        one >> x >> comma >> y;
        places->Add(Vector(x, y, 0));
    }
    MobilityHelper standing;
    standing.SetPositionAllocator(places);
    standing.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    standing.Install(nodes);
}

// Every node knows the hardware address of every other. Entries must be permanent: ns-3's AODV does not find those of
// NeighborCacheHelper, and then never hears of a failed link.
inline void fillArp(const NetDeviceContainer &devices, const Ipv4InterfaceContainer &addresses) {
    for (uint32_t i = 0; i < devices.GetN(); ++i) {
        auto [ip, interface] = addresses.Get(i);
        Ptr<ArpCache> cache = ip->GetObject<Ipv4L3Protocol>()->GetInterface(interface)->GetArpCache();
        for (uint32_t j = 0; j < devices.GetN(); ++j) {
            if (i != j) {
                ArpCache::Entry *entry = cache->Add(addresses.GetAddress(j));
                entry->SetMacAddress(devices.Get(j)->GetAddress());
                entry->MarkPermanent();
            }
        }
    }
}

// The name of a frame in the counts.
inline std::string kindOf(const WifiMacHeader &header) {
    return header.IsRts()                ? "rts"
           : header.IsCts()              ? "cts"
           : header.IsAck()              ? "ack"
           : header.IsBlockAckReq()      ? "block-ack-request"
           : header.IsBlockAck()         ? "block-ack"
           : header.IsMgt()              ? "management"
           : header.GetAddr1().IsGroup() ? "broadcast"
                                         : "data";
}

// The members of a JSON object of counts.
inline std::string json(const Counts &counts) {
    std::string members;
    for (const auto &[name, count] : counts) {
        members += (members.empty() ? "\"" : ", \"") + name + "\": " + std::to_string(count);
    }
    return members;
}

// A constant rate, and an RTS that is given up after some attempts.
//
// Without this, ns-3 repeats an RTS without end when every frame has one: it compares the limit with the number of
// failed data frames.
class LimitedRts : public ConstantRateWifiManager {
  public:
    static TypeId GetTypeId() {
        static TypeId id =
            TypeId("LimitedRts")
                .SetParent<ConstantRateWifiManager>()
                .AddConstructor<LimitedRts>()
                .AddAttribute("Attempts", "Transmissions of an RTS; 0: no limit.", UintegerValue(7),
                              MakeUintegerAccessor(&LimitedRts::m_attempts), MakeUintegerChecker<uint32_t>());
        return id;
    }

  private:
    void DoReportRtsFailed(WifiRemoteStation *) override { ++m_failed; }
    void DoReportRtsOk(WifiRemoteStation *, double, WifiMode, double) override { m_failed = 0; }
    void DoReportFinalRtsFailed(WifiRemoteStation *) override { m_failed = 0; }
    bool DoNeedRetransmission(WifiRemoteStation *, Ptr<const Packet>, bool normally) override {
        return normally && (m_attempts == 0 || m_failed < m_attempts);
    }

    uint32_t m_attempts = 7;
    uint32_t m_failed = 0;
};

inline const TypeId LIMITED_RTS = LimitedRts::GetTypeId(); // registers the class
