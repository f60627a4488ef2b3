//! Keys of the transports `quinn` and `noq`, and their registration.

use std::fmt;
use std::sync::Arc;

use multihop_core::Rng;
use multihop_core::settings::{Field, Settings, Visitor};
use multihop_scenario::{Extension, Extensions};
use multihop_transport::congestion::{Algorithm, CongestionConfig, Variant};
use multihop_transport::connection::{Connection, ConnectionConfig, FlowSetup};
use multihop_transport::observe::Quantity;

use crate::controller::ControlFactory;
use crate::end::{self, QuicEnd};
use crate::{noq, quinn};

/// Adds the transports `quinn` and `noq` to the protocols of a program.
#[must_use]
pub fn register(extensions: Extensions) -> Extensions {
    extensions
        .transport::<Quinn>(Extension {
            name: "quinn",
            version: "0.11.19",
            help: "QUIC by quinn: one connection with real packets.",
        })
        .transport::<Noq>(Extension {
            name: "noq",
            version: "1.4.0",
            help: "QUIC by noq, a fork of quinn: one connection with real packets.",
        })
}

/// Keys of flows over the QUIC stack quinn.
#[derive(Clone, Debug, Settings)]
pub struct Quinn {
    /// Congestion controller: cubic, newreno and bbr are quinn's; the others are multihop's.
    #[key(default = QuinnControl::Cubic)]
    pub control: QuinnControl,
    /// Whether the ends search for the largest datagram of the path, as quinn does by default: from 1200 to 1452 bytes.
    #[key(default = true)]
    pub mtu_discovery: bool,
}

/// Congestion controllers of the transport `quinn`.
#[derive(Clone, Copy, Debug, Field)]
pub enum QuinnControl {
    /// CUBIC of quinn, its default.
    Cubic,
    /// quinn's implementation of NewReno.
    #[word("newreno")]
    NewReno,
    /// BBR version 1 of quinn.
    Bbr,
    /// NewReno as in simulated TCP (RFC 5681).
    #[word("multihop-newreno")]
    MultihopNewReno,
    /// CUBIC as in simulated TCP (RFC 9438).
    MultihopCubic,
    /// BBR version 1 as in simulated TCP.
    MultihopBbr,
    /// BBR version 3 as in simulated TCP.
    MultihopBbr3,
}

/// Keys of flows over the QUIC stack noq.
#[derive(Clone, Debug, Settings)]
pub struct Noq {
    /// Congestion controller: cubic, newreno and bbr3 are noq's; the others are multihop's. noq's bbr3 draws from the
    /// operating system, so that two runs with one seed differ.
    #[key(default = NoqControl::Cubic)]
    pub control: NoqControl,
    /// Whether the ends search for the largest datagram of the path, as noq does by default: from 1200 to 1452 bytes.
    #[key(default = true)]
    pub mtu_discovery: bool,
}

/// Congestion controllers of the transport `noq`.
#[derive(Clone, Copy, Debug, Field)]
pub enum NoqControl {
    /// CUBIC of noq, its default.
    Cubic,
    /// noq's implementation of NewReno.
    #[word("newreno")]
    NewReno,
    /// BBR version 3 of noq.
    Bbr3,
    /// NewReno as in simulated TCP (RFC 5681).
    #[word("multihop-newreno")]
    MultihopNewReno,
    /// CUBIC as in simulated TCP (RFC 9438).
    MultihopCubic,
    /// BBR version 1 as in simulated TCP.
    MultihopBbr,
    /// BBR version 3 as in simulated TCP.
    MultihopBbr3,
}

type QuinnFactory = Arc<dyn quinn_proto::congestion::ControllerFactory + Send + Sync>;
type NoqFactory = Arc<dyn noq_proto::congestion::ControllerFactory + Send + Sync>;

impl QuinnControl {
    fn factory(self) -> QuinnFactory {
        use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
        match self {
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::NewReno => Arc::new(NewRenoConfig::default()),
            Self::Bbr => Arc::new(BbrConfig::default()),
            Self::MultihopNewReno => Arc::new(ControlFactory::new(Variant::NewReno)),
            Self::MultihopCubic => Arc::new(ControlFactory::new(Variant::Cubic)),
            Self::MultihopBbr => Arc::new(ControlFactory::new(Variant::Bbr)),
            Self::MultihopBbr3 => Arc::new(ControlFactory::new(Variant::Bbr3)),
        }
    }
}

impl NoqControl {
    fn factory(self) -> NoqFactory {
        use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
        match self {
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::NewReno => Arc::new(NewRenoConfig::default()),
            Self::Bbr3 => Arc::new(Bbr3Config::default()),
            Self::MultihopNewReno => Arc::new(ControlFactory::new(Variant::NewReno)),
            Self::MultihopCubic => Arc::new(ControlFactory::new(Variant::Cubic)),
            Self::MultihopBbr => Arc::new(ControlFactory::new(Variant::Bbr)),
            Self::MultihopBbr3 => Arc::new(ControlFactory::new(Variant::Bbr3)),
        }
    }
}

/// Seed of the random numbers of one end.
fn seed(mut rng: Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    seed.chunks_mut(8).for_each(|eight| eight.copy_from_slice(&rng.next_u64().to_le_bytes()));
    seed
}

fn quinn_ends(flow: &FlowSetup<'_>, control: &QuinnFactory, mtu_discovery: bool) -> [Box<dyn Connection>; 2] {
    let transport = || {
        let mut transport = quinn_proto::TransportConfig::default();
        transport.congestion_controller_factory(Arc::clone(control));
        if !mtu_discovery {
            transport.mtu_discovery_config(None);
        }
        transport
    };
    let seed = |end| seed((flow.rng)("quinn", end));
    let client = quinn::Stack::client(seed(0), transport(), mtu_discovery);
    let server = quinn::Stack::server(seed(1), transport(), mtu_discovery);
    [Box::new(QuicEnd::new(client, flow.sink)), Box::new(QuicEnd::new(server, flow.sink))]
}

fn noq_ends(flow: &FlowSetup<'_>, control: &NoqFactory, mtu_discovery: bool) -> [Box<dyn Connection>; 2] {
    let transport = || {
        let mut transport = noq_proto::TransportConfig::default();
        transport.congestion_controller_factory(Arc::clone(control));
        if !mtu_discovery {
            transport.mtu_discovery_config(None);
        }
        transport
    };
    let seed = |end| seed((flow.rng)("noq", end));
    let client = noq::Stack::client(seed(0), transport(), mtu_discovery);
    let server = noq::Stack::server(seed(1), transport(), mtu_discovery);
    [Box::new(QuicEnd::new(client, flow.sink)), Box::new(QuicEnd::new(server, flow.sink))]
}

impl ConnectionConfig for Quinn {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        quinn_ends(flow, &self.control.factory(), self.mtu_discovery)
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        end::quantity(index)
    }
}

impl ConnectionConfig for Noq {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        noq_ends(flow, &self.control.factory(), self.mtu_discovery)
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        end::quantity(index)
    }
}

/// Your congestion control inside quinn, for `Extensions::transport::<OverQuinn<MyConfig>>(...)`. Its keys are those of
/// the congestion control.
#[derive(Clone, Debug, Default)]
pub struct OverQuinn<C>(pub C);

/// Your congestion control inside noq, for `Extensions::transport::<OverNoq<MyConfig>>(...)`. Its keys are those of the
/// congestion control.
#[derive(Clone, Debug, Default)]
pub struct OverNoq<C>(pub C);

impl<C: Settings> Settings for OverQuinn<C> {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.0.keys(keys);
    }
}

impl<C: Settings> Settings for OverNoq<C> {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.0.keys(keys);
    }
}

fn factory<C: CongestionConfig + Clone + 'static>(control: &C) -> ControlFactory {
    ControlFactory::new(Algorithm::custom(control.clone()))
}

impl<C: CongestionConfig + Clone + fmt::Debug + 'static> ConnectionConfig for OverQuinn<C> {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        let control: QuinnFactory = Arc::new(factory(&self.0));
        quinn_ends(flow, &control, true)
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        end::quantity(index)
    }
}

impl<C: CongestionConfig + Clone + fmt::Debug + 'static> ConnectionConfig for OverNoq<C> {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        let control: NoqFactory = Arc::new(factory(&self.0));
        noq_ends(flow, &control, true)
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        end::quantity(index)
    }
}
