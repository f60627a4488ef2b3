// Prints the success of 8192 bits by ns-3's error models at whole decibels, as CSV. Its output with ns-3 3.37 is
// ns3.csv. With Debian's libns3-dev:
// g++ -std=c++17 ns3.cc $(pkg-config --cflags --libs ns3-core ns3-network ns3-wifi) -o ns3 && ./ns3 > ns3.csv
#include "ns3/core-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <cstdio>
#include <string>

using namespace ns3;

static void Print(const std::string& model, const std::string& name, WifiTxVector v) {
    Ptr<ErrorRateModel> errors;
    if (model == "nist")
        errors = CreateObject<NistErrorRateModel>();
    else
        errors = CreateObject<YansErrorRateModel>();
    for (int db = -6; db <= 40; ++db) {
        double success = errors->GetChunkSuccessRate(v.GetMode(), v, std::pow(10.0, db / 10.0), 8192, 1,
                                                     WIFI_PPDU_FIELD_DATA, 0);
        // Points that are 0 or 1 say little.
        if (success > 1e-9 && success < 1 - 1e-9)
            std::printf("%s,%s,%d,%.12g\n", model.c_str(), name.c_str(), db, success);
    }
}

static WifiTxVector Transmission(const std::string& mode, int width, int streams, WifiPreamble preamble) {
    WifiTxVector v;
    v.SetMode(WifiMode(mode));
    v.SetChannelWidth(width);
    v.SetNss(streams);
    v.SetGuardInterval(800);
    v.SetPreambleType(preamble);
    return v;
}

int main() {
    std::printf("model,rate,db,success\n");
    for (std::string model : {"nist", "yans"}) {
        for (int rate : {6, 9, 12, 18, 24, 36, 48, 54})
            Print(model, "802.11a " + std::to_string(rate) + "M",
                  Transmission("OfdmRate" + std::to_string(rate) + "Mbps", 20, 1, WIFI_PREAMBLE_LONG));
        for (int width : {20, 80})
            for (int mcs = 0; mcs < 12; ++mcs)
                Print(model, "802.11ax-" + std::to_string(width) + " MCS" + std::to_string(mcs),
                      Transmission("HeMcs" + std::to_string(mcs), width, 1, WIFI_PREAMBLE_HE_SU));
        for (int width : {20, 40})
            for (int mcs = 0; mcs < 8; ++mcs)
                Print(model, "802.11n-" + std::to_string(width) + " MCS" + std::to_string(mcs),
                      Transmission("HtMcs" + std::to_string(mcs), width, 1, WIFI_PREAMBLE_HT_MF));
        // 802.11ah in 2 MHz is 802.11ac in 20 MHz, ten times slower. In 1 MHz it has other subcarriers; the NIST model does
        // not count them.
        for (int mcs = 0; mcs < 9; ++mcs)
            Print(model, "802.11ah-2 MCS" + std::to_string(mcs),
                  Transmission("VhtMcs" + std::to_string(mcs), 20, 1, WIFI_PREAMBLE_VHT_SU));
        if (model == "nist")
            for (int mcs = 0; mcs < 10; ++mcs)
                Print(model, "802.11ah-1 MCS" + std::to_string(mcs),
                      Transmission("VhtMcs" + std::to_string(mcs), 40, 1, WIFI_PREAMBLE_VHT_SU));
    }
}
