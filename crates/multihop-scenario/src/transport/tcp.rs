//! Parameters behind the short names of TCP.

use multihop_core::settings::{Settings, Visitor};
use multihop_core::{BitRate, Duration};
use multihop_transport::congestion::{Algorithm, Signals, Variant};
use multihop_transport::connection::{Connection, ConnectionConfig, FlowSetup};
use multihop_transport::pacing::{Clock, PacingConfig, Rules};
use multihop_transport::tcp::{AckRule, Config, DelayedAck, Ending, PRESETS, Pacing, Restore, Standby};

use crate::extension::{Entry, Extension, NewControl};

/// Kind of TCP that a short name selects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpKind {
    pub(super) control: Control,
    pub(super) ack: Ack,
    pub(super) window: Window,
    /// State that is restored at the end of a stand-by after a link failure; `None` without stand-by.
    pub(super) elfn: Option<Restore>,
    /// Clock of adaptive pacing; `None` without pacing.
    pub(super) pacing: Option<Clock>,
    /// The preset that applies if the scenario names none.
    pub(super) preset: fn() -> Config,
}

/// Congestion control that a kind of TCP uses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control {
    BuiltIn(Variant),
    /// Congestion control that the user has defined.
    Custom(Entry<NewControl>),
}

impl Control {
    /// Algorithm with the default values of its keys.
    fn algorithm(self) -> Algorithm {
        match self {
            Self::BuiltIn(variant) => variant.into(),
            Self::Custom(entry) => (entry.make)(),
        }
    }

    fn signals(self) -> Signals {
        match self {
            Self::BuiltIn(variant) => variant.signals(),
            Self::Custom(entry) => (entry.make)().signals(),
        }
    }
}

/// ACK rule of a kind of TCP; the variant of delayed ACKs is a separate key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ack {
    Every,
    Delayed,
    Dynamic,
    Tack,
}

/// Window clamp of a kind of TCP.
#[derive(Clone, Copy, Debug)]
pub(super) enum Window {
    OfPreset,
    Fixed(u16),
    ByHops,
}

pub(super) const NEWRENO: TcpKind = congestion_control(Variant::NewReno);

pub(super) const CLAMPED_BY_HOPS: TcpKind = TcpKind { window: Window::ByHops, ..NEWRENO };

/// Kind of TCP of a congestion control. ADTCP has the constants of ns-2 when its paper was written; newer
/// controls have those of Linux 6. CUBIC has the constants of the RFCs, because no ns-2 of the papers had it:
/// the window of ns-2 after a recovery permits bursts, which with CUBIC's large windows would overflow the
/// queue again.
pub(super) const fn congestion_control(variant: Variant) -> TcpKind {
    let kind = controlled(Control::BuiltIn(variant), variant.signals());
    match variant {
        Variant::Adtcp => TcpKind { preset: Config::ns2_2002, ..kind },
        Variant::Cubic => TcpKind { preset: Config::rfc, ..kind },
        _ => kind,
    }
}

/// TCP with a user-defined congestion control.
pub(super) fn custom_control(entry: Entry<NewControl>) -> TcpKind {
    let control = Control::Custom(entry);
    controlled(control, control.signals())
}

/// TCP with a congestion control. If the control needs signals that the networks of the papers lacked, it has
/// the constants of Linux 6.
const fn controlled(control: Control, signals: Signals) -> TcpKind {
    let is_of_today = signals.rates || signals.marks;
    TcpKind {
        control,
        ack: if is_of_today { Ack::Delayed } else { Ack::Every },
        window: Window::OfPreset,
        elfn: None,
        pacing: None,
        preset: if is_of_today { Config::linux_6 } else { Config::default },
    }
}

/// Reno with explicit link failure notification.
pub(super) const fn elfn(restore: Restore) -> TcpKind {
    TcpKind { elfn: Some(restore), ..congestion_control(Variant::Reno) }
}

pub(super) const fn delayed(kind: TcpKind) -> TcpKind {
    TcpKind { ack: Ack::Delayed, ..kind }
}

pub(super) const fn paced(kind: TcpKind, clock: Clock) -> TcpKind {
    TcpKind { pacing: Some(clock), ..kind }
}

/// TCP with a fixed window of `segments` segments and delayed ACKs.
pub(super) const fn clamped(segments: u16) -> TcpKind {
    TcpKind { window: Window::Fixed(segments), ..delayed(NEWRENO) }
}

impl TcpKind {
    /// Whether segments are spaced already.
    pub(super) fn is_paced(&self) -> bool {
        self.pacing.is_some() || self.control.signals().rates
    }

    pub(super) fn is_adtcp(&self) -> bool {
        matches!(self.control, Control::BuiltIn(Variant::Adtcp))
    }

    /// The user-defined congestion control; `None` for built-in ones.
    pub(super) fn extension(&self) -> Option<Extension> {
        match self.control {
            Control::BuiltIn(_) => None,
            Control::Custom(entry) => Some(entry.extension),
        }
    }

    /// Parameters that the name sets on top of its preset.
    pub(super) fn parameters(self) -> TcpParameters {
        self.on_top_of(&(self.preset)())
    }

    /// Parameters for real networks, with the constants of Linux. Pacing follows the text of the TCP-AP paper, not its authors'
    /// implementation, which needs the parts of a round trip: no driver measures those on real networks.
    pub(super) fn on_real_networks(self) -> TcpParameters {
        let mut parameters = self.on_top_of(&Config::linux());
        if let Some(pacing) = &mut parameters.config.pacing {
            *pacing = Pacing::new(pacing.pacer.with_rules(Rules::Paper));
        }
        parameters
    }

    pub(super) fn on_top_of(self, preset: &Config) -> TcpParameters {
        TcpParameters { kind: self, config: self.config(preset) }
    }

    fn config(&self, preset: &Config) -> Config {
        let whose = match preset.ack_rule {
            AckRule::Delayed(whose) => whose,
            AckRule::Every | AckRule::Dynamic | AckRule::Tack => DelayedAck::Ns2,
        };
        let ack_rule = match self.ack {
            Ack::Every => AckRule::Every,
            Ack::Delayed => AckRule::Delayed(whose),
            Ack::Dynamic => AckRule::Dynamic,
            Ack::Tack => AckRule::Tack,
        };
        let window_max = match self.window {
            Window::OfPreset | Window::ByHops => preset.window_max,
            Window::Fixed(segments) => segments,
        };
        Config {
            congestion: self.control.algorithm(),
            ack_rule,
            window_max,
            window_by_hops: matches!(self.window, Window::ByHops),
            elfn: self.elfn.map(standby),
            sack: preset.sack || self.control.signals().rates,
            timestamps: preset.timestamps.or(self.is_adtcp().then_some(ADTCP_CLOCK)),
            pacing: self.pacing.map(|clock| Pacing::new(pacing(clock))),
            ..preset.clone()
        }
    }
}

/// Stand-by that restores this state at its end.
const fn standby(restore: Restore) -> Standby {
    let elfn = Standby::elfn();
    Standby { end: Ending { restore, ..elfn.end }, ..elfn }
}

/// A kind of TCP and its parameters, which a preset replaces.
#[derive(Debug)]
pub(super) struct TcpParameters {
    pub(super) kind: TcpKind,
    pub(super) config: Config,
}

impl ConnectionConfig for TcpParameters {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        self.config.ends(flow)
    }
}

impl Settings for TcpParameters {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Set of constants, which other keys can change; by default ns2-2002 for adtcp, linux-6 for bbr, bbr3 and prague, rfc for cubic, ns2-2005 for others.";
        if let Some(preset) = keys.about(about).choice("preset", None, PRESETS) {
            self.config = self.kind.config(&preset());
        }
        self.config.keys(keys);
    }
}

/// Pacing of TCP-AP at 2 Mb/s, which the driver replaces by the rate of the radio. Without a synchronised
/// clock it uses the rules of the authors' implementation, which reproduce more of the published figures.
pub(super) const fn pacing(clock: Clock) -> PacingConfig {
    let rules = match clock {
        Clock::Own => Rules::Authors,
        Clock::Synchronised => Rules::Paper,
    };
    PacingConfig { clock, ..PacingConfig::new(BitRate(2_000_000)).with_rules(rules) }
}

/// Resolution of the clock with which ADTCP measures where the preset has no timestamps.
const ADTCP_CLOCK: Duration = Duration::from_micros(1);
