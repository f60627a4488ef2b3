//! Goodput over one hop against computed airtimes.
//!
//! A lone sender's cycle is DIFS, backoff, perhaps RTS and CTS, data and ACK, with SIFS between.
//! Its only random part is the backoff: 8.9 slots (179 us) of standard deviation, so that the mean of
//! 20,000 cycles of at least 1.8 ms has a standard error of at most 179 / 1800 / sqrt(20,000) =
//! 0.07%.

use crate::support::result;

const RATES: [(f64, &str); 4] = [(1.0, "1M"), (2.0, "2M"), (5.5, "5.5M"), (11.0, "11M")];
const SIFS: f64 = 10.0;
const DIFS: f64 = 50.0;
const SLOT: f64 = 20.0;

/// Airtimes in microseconds; RTS, CTS and ACK at 1 Mb/s.
#[derive(Clone, Copy)]
struct Airtime {
    plcp: f64,
    rate: f64,
}

impl Airtime {
    fn control(self, bytes: f64) -> f64 {
        self.plcp + 8.0 * bytes
    }

    /// A data frame with an IP packet of `bytes`: 24 bytes of header and 4 of checksum.
    fn data(self, bytes: f64) -> f64 {
        self.plcp + 8.0 * (bytes + 28.0) / self.rate
    }

    /// Time from one packet to the next.
    fn cycle(self, bytes: f64, rts: bool, slots: f64) -> f64 {
        let announcement = if rts { self.control(20.0) + SIFS + self.control(14.0) + SIFS } else { 0.0 };
        DIFS + slots * SLOT + announcement + self.data(bytes) + SIFS + self.control(14.0)
    }
}

fn scenario(rate: &str, preamble: &str, rts: bool, flavour: &str, seconds: f64, flow: &str) -> String {
    let threshold = if rts { "0" } else { "\"off\"" };
    format!(
        "duration = {:?}\nwarmup = 0.5\n\
         [radio]\nrate = \"{rate}\"\npreamble = \"{preamble}\"\n\
         [mac]\narp = \"oracle\"\nflavour = \"{flavour}\"\nrts_threshold = {threshold}\n\
         [topology]\nkind = \"chain\"\nhops = 1\nspacing = 50.0\n\
         [[flow]]\n{flow}\n",
        seconds + 0.5
    )
}

fn saturated_udp(flavour: &str, mean_slots: f64) {
    for (rate, rate_word) in RATES {
        for (preamble, plcp) in [("long", 192.0), ("short", 96.0)] {
            for rts in [true, false] {
                let cycle = Airtime { plcp, rate }.cycle(1488.0, rts, mean_slots);
                let expected = 8e3 * 1460.0 / cycle;
                let flow = "app = \"cbr\"\nrate_kbps = 12000.0\nsize = 1460";
                let seconds = 20_000.0 * cycle * 1e-6;
                let text = scenario(rate_word, preamble, rts, flavour, seconds, flow);
                let found = result(&text).totals.goodput_kbps;
                assert!(
                    (found / expected - 1.0).abs() < 0.005,
                    "{rate_word}, {preamble} preamble, RTS {rts}: {found} kb/s, expected {expected}"
                );
            }
        }
    }
}

#[test]
fn udp_goodput_over_one_hop_follows_from_airtimes_in_the_ns2_flavour() {
    saturated_udp("ns2", 15.0);
}

#[test]
fn udp_goodput_over_one_hop_follows_from_airtimes_in_the_standard_flavour() {
    saturated_udp("standard", 15.5);
}

/// If segments and ACKs alternated strictly, each would need one cycle. The backoffs of the two stations overlap, which
/// saves less than a mean backoff per segment. In about one cycle of 15 they end in the same slot, which costs an RTS,
/// or a whole frame without RTS.
#[test]
fn tcp_goodput_over_one_hop_is_near_that_of_alternating_segments_and_acks() {
    for (rate, rate_word) in RATES {
        for rts in [true, false] {
            let airtime = Airtime { plcp: 192.0, rate };
            let serial = airtime.cycle(1500.0, rts, 15.0) + airtime.cycle(40.0, rts, 15.0);
            let flow = "transport = { kind = \"newreno+ack1\", window_max = 20 }";
            let result = result(&scenario(rate_word, "long", rts, "ns2", 60.0, flow));
            let found = result.totals.goodput_kbps / (8e3 * 1460.0 / serial);
            let all_overlap = 1.0 + 15.0 * SLOT / serial;
            let all_meet = if rts { 0.98 } else { 0.95 };
            assert!(
                found > all_meet && found < all_overlap,
                "{rate_word}, RTS {rts}: {found} of alternating frames, not in {all_meet}..{all_overlap}"
            );
            assert_eq!(result.flows[0].segments_retransmitted, 0);
        }
    }
}

/// DIFS, 7.5 slots, CTS at 1 Mb/s, SIFS, 1516 bytes at 54 Mb/s, SIFS, ACK at 24 Mb/s, and two times 50 m of propagation: the
/// standard deviation of the backoff is 92 us of 812, so that that of the mean of 20,000 cycles is 0.08%.
#[test]
fn udp_goodput_with_a_cts_to_the_station_itself_follows_from_airtimes() {
    let cycle = DIFS + 7.5 * SLOT + 304.0 + SIFS + 254.0 + SIFS + 34.0 + 0.33;
    let expected = 8e3 * 1460.0 / cycle;
    let text = format!(
        "duration = {:?}\nwarmup = 0.5\n\
         [radio]\nphy = \"802.11g\"\nbudget = \"ns-2\"\nrate = \"54M\"\n\
         [mac]\narp = \"oracle\"\nflavour = \"standard\"\nrts_threshold = \"off\"\nprotection = \"cts-to-self\"\n\
         [topology]\nkind = \"chain\"\nhops = 1\nspacing = 50.0\n\
         [[flow]]\napp = \"cbr\"\nrate_kbps = 60000.0\nsize = 1460\n",
        20_000.0 * cycle * 1e-6 + 0.5
    );
    let result = result(&text);
    let found = result.totals.goodput_kbps;
    assert!((found / expected - 1.0).abs() < 0.005, "{found} kb/s, expected {expected}");
    let [cts, data] = ["cts", "data"].map(|kind| result.mac.frames[kind]);
    assert!(cts.abs_diff(data) <= 1, "{cts} CTS, {data} data frames");
}
