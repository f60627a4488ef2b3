//! `[radio]` and `[mac]`.

use multihop_core::settings::{Settings, Visitor};
use multihop_radio::params::{Flavour, MacParams, RadioParams};

use crate::model::ArpKind;
use crate::read::settings::Keyed;

/// `[radio]`.
pub(crate) type RadioTable = Keyed<RadioParams>;

/// `[mac]`.
pub(crate) type MacTable = Keyed<LinkLayer>;

/// The MAC, and address resolution.
pub(crate) struct LinkLayer {
    pub(crate) mac: MacParams,
    pub(crate) arp: ArpKind,
}

impl Default for LinkLayer {
    fn default() -> Self {
        Self { mac: MacParams::default(), arp: ArpKind::Ns2 }
    }
}

impl Settings for LinkLayer {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.mac.keys(keys);
        if self.mac.flavour == Flavour::Standard {
            self.arp = ArpKind::Queueing;
        }
        let about = "Address resolution: ARP as in ns-2, ARP with a queue, or all addresses known in advance. \
                     Default: ns2; with flavour standard queueing.";
        let words = [("ns2", ArpKind::Ns2), ("queueing", ArpKind::Queueing), ("oracle", ArpKind::Oracle)];
        keys.about(about).word("arp", &mut self.arp, &words);
    }
}
