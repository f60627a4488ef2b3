//! Records that the eBPF programs write: `struct record` and `struct sample` of `bpf/flow.h`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use multihop_wire::tcp::NetworkState;
use serde::{Serialize, Serializer};

use crate::Control;

/// A connection that uses one of the controls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelConnection {
    /// Address and port of this end.
    pub local: SocketAddr,
    /// Address and port of the other end.
    pub remote: SocketAddr,
    /// Inode number of the network namespace.
    pub namespace: u32,
    /// Name of the congestion control.
    pub control: &'static str,
    /// Hops from the other end to this one; `None` before the first packet.
    pub hops: Option<u32>,
    /// Newest round-trip time, ms; `None` before the first sample.
    pub rtt_ms: Option<f64>,
    /// Smoothed round trip, ms.
    pub srtt_ms: f64,
    /// Congestion window, in segments.
    pub window: u32,
    /// Coefficient of variation of the last round trips.
    pub cov: f64,
    /// Pacing rate, kb/s of payload; `None` without pacing.
    pub pace_kbps: Option<f64>,
    /// Measurements of ADTCP; `None` with another control.
    pub adtcp: Option<Adtcp>,
}

/// Reports and reactions of ADTCP for a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Adtcp {
    /// Reports of network states that this end sent as a receiver of data.
    pub returned: Reports,
    /// Reports of network states that this end received as a sender of data.
    pub received: Reports,
    /// Number of losses and timeouts.
    pub losses: u32,
    /// Number of losses and timeouts that did not reduce the window.
    pub kept: u32,
}

/// Number of ACKs with each state that the receiver reported; one ACK may have several states.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reports {
    /// Number of ACKs with any state, including the normal one.
    pub all: u32,
    /// Number of ACKs that reported congestion.
    pub congestion: u32,
    /// Number of ACKs that reported a change of route.
    pub route_change: u32,
    /// Number of ACKs that reported channel errors.
    pub channel_error: u32,
    /// Number of ACKs that reported a disconnection.
    pub disconnection: u32,
    /// Newest reported state; `None` before the first.
    #[serde(serialize_with = "name")]
    pub newest: Option<NetworkState>,
}

/// Record of an ACK that reached a sender, with the sender's state after the ACK.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Time since the machine started, s.
    pub time: f64,
    /// Local port of the connection.
    pub port: u32,
    /// Hops from the other end to this one.
    pub hops: u32,
    /// Number of segments that the ACK acknowledges.
    pub acked: u32,
    /// Newest round-trip time, ms.
    pub rtt_ms: f64,
    /// Whether the round trip is used as a sample.
    pub is_counted: bool,
    /// Coefficient of variation of the last round trips.
    pub cov: f64,
    /// Average delay over four hops; for `mh_mesh`, average delay in queues; ms.
    pub delay_ms: f64,
    /// Time between two segments, ms.
    pub gap_ms: f64,
    /// Congestion window, in segments.
    pub window: u32,
    /// Number of data segments sent so far.
    pub sent: u32,
    /// The network state in the receiver's latest report (`mh_adtcp`).
    pub told: NetworkState,
    /// Number of losses and timeouts so far (`mh_adtcp`).
    pub losses: u32,
    /// Number of losses and timeouts so far that did not reduce the window (`mh_adtcp`).
    pub kept: u32,
}

impl KernelConnection {
    /// Length of a record, bytes.
    pub const LENGTH: usize = 144;

    /// Parses a record; `None` if it does not come from these programs.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = Words::of(bytes, Self::LENGTH)?;
        let [local, remote] = [words.address(), words.address()];
        let gap = words.double();
        let family = words.next();
        let [local, remote] = [local, remote].map(|address| address.ip(family));
        let [local, remote] = [(local, words.port()?), (remote, words.port()?)].map(SocketAddr::from);
        let namespace = words.next();
        let control = *Control::ALL.get(usize::try_from(words.next()).ok()?)?;
        let [hops, rtt, srtt, window, mss, cov] = std::array::from_fn(|_| words.next());
        let adtcp = words.adtcp();
        Some(Self {
            local,
            remote,
            namespace,
            control: control.name(),
            hops: (hops > 0).then_some(hops),
            rtt_ms: (rtt > 0).then_some(f64::from(rtt) / 1e3),
            srtt_ms: f64::from(srtt) / 1e3,
            window,
            cov: f64::from(cov) / 1e6,
            pace_kbps: (gap > 0).then(|| 8e6 * f64::from(mss) / gap as f64),
            adtcp: (control == Control::Adtcp).then_some(adtcp),
        })
    }
}

impl Sample {
    /// Length of a sample, bytes.
    pub const LENGTH: usize = 72;
    /// The columns of a table of samples.
    pub const COLUMNS: &str =
        "time,port,hops,acked,rtt_ms,counted,cov,delay_ms,gap_ms,window,sent,told,losses,kept";

    /// Parses a sample; `None` if it does not come from these programs.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = Words::of(bytes, Self::LENGTH)?;
        let [time, gap, delay] = std::array::from_fn(|_| words.double() as f64);
        let [port, hops, rtt, cov, acked, is_counted, window, sent] = std::array::from_fn(|_| words.next());
        let [told, losses, kept] = std::array::from_fn(|_| words.next());
        Some(Self {
            time: time / 1e9,
            port,
            hops,
            acked,
            rtt_ms: f64::from(rtt) / 1e3,
            is_counted: is_counted != 0,
            cov: f64::from(cov) / 1e6,
            delay_ms: delay / 1e6,
            gap_ms: gap / 1e6,
            window,
            sent,
            told: state_of(told),
            losses,
            kept,
        })
    }

    /// The sample as a line of a table.
    pub fn row(&self) -> String {
        let Self { time, port, hops, acked, rtt_ms, is_counted, cov, delay_ms, gap_ms, window, sent, .. } =
            self;
        let Self { told, losses, kept, .. } = self;
        let told = state_name(*told);
        let counted = u8::from(*is_counted);
        format!(
            "{time:.6},{port},{hops},{acked},{rtt_ms:.3},{counted},{cov:.4},{delay_ms:.3},{gap_ms:.3},{window},{sent},\
             {told},{losses},{kept}"
        )
    }
}

/// Names of the states that hold, such as `channel-error+route-change`.
pub fn state_name(state: NetworkState) -> String {
    state.names().collect::<Vec<_>>().join("+")
}

/// Writes the name of a state as JSON shows it.
fn name<S: Serializer>(state: &Option<NetworkState>, serializer: S) -> Result<S::Ok, S::Error> {
    state.map(state_name).serialize(serializer)
}

fn state_of(bits: u32) -> NetworkState {
    NetworkState::from_bits(u8::try_from(bits & 15).expect("four bits"))
}

/// Words of 32 bits, in the byte order of this machine.
struct Words<'a>(std::slice::ChunksExact<'a, u8>);

impl<'a> Words<'a> {
    fn of(bytes: &'a [u8], length: usize) -> Option<Self> {
        (bytes.len() == length).then(|| Self(bytes.chunks_exact(4)))
    }

    fn bytes(&mut self) -> [u8; 4] {
        self.0.next().and_then(|word| word.try_into().ok()).expect("the length has been checked")
    }

    fn next(&mut self) -> u32 {
        u32::from_ne_bytes(self.bytes())
    }

    fn double(&mut self) -> u64 {
        let [first, second] = [self.bytes(), self.bytes()];
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&first);
        bytes[4..].copy_from_slice(&second);
        u64::from_ne_bytes(bytes)
    }

    fn adtcp(&mut self) -> Adtcp {
        let [returned, received] = [self.reports(), self.reports()];
        Adtcp { returned, received, losses: self.next(), kept: self.next() }
    }

    fn reports(&mut self) -> Reports {
        let [all, congestion, route_change, channel_error, disconnection, newest] =
            std::array::from_fn(|_| self.next());
        let newest = (all > 0).then(|| state_of(newest));
        Reports { all, congestion, route_change, channel_error, disconnection, newest }
    }

    fn port(&mut self) -> Option<u16> {
        u16::try_from(self.next()).ok()
    }

    fn address(&mut self) -> Address {
        Address(std::array::from_fn(|_| self.bytes()))
    }
}

/// IPv4 or IPv6 address in network byte order.
struct Address([[u8; 4]; 4]);

impl Address {
    fn ip(&self, family: u32) -> IpAddr {
        const FAMILY_IPV4: u32 = 2;
        if family == FAMILY_IPV4 {
            return Ipv4Addr::from(self.0[0]).into();
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(self.0.as_flattened());
        Ipv6Addr::from(bytes).to_canonical()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn record(family: u32, control: u32) -> Vec<u8> {
        let local = u32::from_ne_bytes([10, 0, 0, 1]);
        let remote = u32::from_ne_bytes([10, 0, 0, 5]);
        let mut bytes = words(&[local, 0, 0, 0, remote, 0, 0, 0]);
        bytes.extend(40_000_000_u64.to_ne_bytes());
        bytes.extend(words(&[family, 4000, 5201, 77, control, 4, 31_500, 30_000, 7, 1448, 250_000]));
        // Numbers of returned and received reports, of losses, and of losses that did not reduce the window.
        bytes.extend(words(&[0, 0, 0, 0, 0, 0, 90, 3, 1, 20, 0, 6, 5, 4, 0]));
        bytes
    }

    #[test]
    fn a_record_has_both_ends_and_what_the_control_does() {
        let found = KernelConnection::parse(&record(2, 0)).expect("a record");
        assert_eq!(
            (found.local.to_string(), found.remote.to_string()),
            ("10.0.0.1:4000".into(), "10.0.0.5:5201".into())
        );
        assert_eq!((found.namespace, found.control, found.hops, found.window), (77, "mh_ap", Some(4), 7));
        assert_eq!((found.rtt_ms, found.srtt_ms, found.cov), (Some(31.5), 30.0, 0.25));
        // The rate is 1448 bytes per 40 ms.
        assert_eq!(found.pace_kbps, Some(289.6));
        assert_eq!(found.adtcp, None);
    }

    #[test]
    fn a_record_of_adtcp_has_the_states_of_each_direction() {
        let adtcp =
            KernelConnection::parse(&record(2, 3)).expect("a record").adtcp.expect("its control is mh_adtcp");
        assert_eq!((adtcp.returned.all, adtcp.returned.newest, adtcp.losses, adtcp.kept), (0, None, 5, 4));
        let Reports { all, congestion, route_change, channel_error, disconnection, newest } = adtcp.received;
        assert_eq!((all, congestion, route_change, channel_error, disconnection), (90, 3, 1, 20, 0));
        assert_eq!(newest.map(state_name), Some("channel-error+route-change".into()));
        assert_eq!(state_name(NetworkState::NORMAL), "normal");
    }

    #[test]
    fn addresses_of_ipv6_are_read_and_nonsense_is_not() {
        let found = KernelConnection::parse(&record(10, 1)).expect("a record");
        assert_eq!(found.local.to_string(), "[a00:1::]:4000");
        assert_eq!(KernelConnection::parse(&record(2, 9)), None);
        assert_eq!(KernelConnection::parse(&record(2, 0)[1..]), None);
        assert_eq!(Sample::parse(&[0; 3]), None);
    }

    #[test]
    fn a_sample_is_a_row_with_as_many_columns_as_the_header() {
        let mut bytes: Vec<u8> =
            [1_500_000_000_u64, 40_000_000, 20_000_000].iter().flat_map(|n| n.to_ne_bytes()).collect();
        bytes.extend(words(&[4000, 4, 31_500, 250_000, 2, 1, 7, 99, 5, 3, 1, 0]));
        let row = Sample::parse(&bytes).expect("a sample").row();
        assert_eq!(row, "1.500000,4000,4,2,31.500,1,0.2500,20.000,40.000,7,99,congestion+channel-error,3,1");
        assert_eq!(row.split(',').count(), Sample::COLUMNS.split(',').count());
    }
}
