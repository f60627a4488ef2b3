//! `[radio]` and `[mac]`.

use multihop_core::settings::{Settings, Visitor};
use multihop_radio::budget::Budget;
use multihop_radio::params::{Flavour, MacParams, RadioParams};
use multihop_radio::phy_profile::PROFILES;
use schemars::{Schema, SchemaGenerator};
use serde_json::json;

use crate::document::Node;
use crate::faults::Faults;
use crate::model::ArpKind;
use crate::read::settings::{self, Keyed};
use crate::read::{Fields, Keys, Object, describe};

/// `[radio]` and `[mac]`: the physical layer and the link budget decide the defaults of both.
pub(crate) struct LinkTables {
    pub(crate) radio: RadioParams,
    pub(crate) link: LinkLayer,
}

impl Fields for LinkTables {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let radio: Option<Keyed<RadioParams>> = keys.take("radio", Some(json!({})), faults);
        let has_link_rates = keys.find("data_rate").is_some();
        let mut link = match &radio {
            Some(Keyed(radio)) => LinkLayer::beside(radio, radio.is_rate_given || has_link_rates),
            None => LinkLayer::default(),
        };
        let (path, empty) = (keys.path_of("mac"), Node::default(&json!({})));
        let mut mac = Keys::open(keys.find("mac").unwrap_or(&empty), &path, faults)?;
        settings::take(&mut link, "this protocol", &mut mac, faults);
        mac.close(faults);
        Some(Self { radio: radio?.0, link })
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let mut tables = Object::default();
        let about = "Physical layer and channel.";
        tables.key::<Keyed<RadioParams>>(generator, "radio", about, Some(json!({})));
        let about = "Medium access and the interface queue.";
        tables.described("mac", LinkLayer::schema(), about, Some(json!({})));
        tables.schema()
    }
}

/// The MAC, and address resolution.
#[derive(Clone)]
pub(crate) struct LinkLayer {
    pub(crate) mac: MacParams,
    pub(crate) arp: ArpKind,
}

impl LinkLayer {
    /// The defaults beside a radio. `is_rate_given`: the scenario fixes rates of data.
    fn beside(radio: &RadioParams, is_rate_given: bool) -> Self {
        Self { mac: MacParams::beside(radio, is_rate_given), ..Self::default() }
    }

    /// Describes the keys. A default is shown if it is the same beside every radio.
    fn schema() -> Schema {
        let mut beside = vec![Self::default()];
        for phy in PROFILES {
            let radio = RadioParams::with_budget(phy, Budget::Street);
            beside.extend([true, false].map(|is_rate_given| Self::beside(&radio, is_rate_given)));
        }
        beside.dedup_by(|one, other| one.mac == other.mac);
        let mut schema = describe::schema_of_all(&beside, |link, keys| link.clone().keys(keys));
        schema.insert("unevaluatedProperties".into(), false.into());
        schema
    }
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
