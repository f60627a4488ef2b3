//! Keys of the tables `[radio]`, `[[radio]]` and `[mac]`.

use std::borrow::Cow;

use multihop_core::settings::{Settings, Visitor};
use multihop_radio::budget::Budget;
use multihop_radio::channel;
use multihop_radio::params::{Flavour, MacParams, RadioParams};
use multihop_radio::phy_profile::PROFILES;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::NodeRef;
use crate::document::{Fault, Node, Value};
use crate::faults::Faults;
use crate::model::ArpKind;
use crate::read::{Fields, Keys, Object, describe, join, settings, wrong};

/// `[radio]`, one table or an array of tables, and `[mac]`: the physical layer and the link budget of a radio decide the defaults
/// of both.
pub(crate) struct LinkTables {
    pub(crate) radios: Vec<RadioTable>,
}

/// A radio with its MAC.
pub(crate) struct RadioTable {
    /// Path of the radio's table in the document, such as `radio` or `radio.0`.
    pub(crate) path: String,
    pub(crate) params: RadioParams,
    pub(crate) channel: Option<u8>,
    pub(crate) nodes: Option<Vec<NodeRef>>,
    /// The radio's own table `mac`, or the common table `[mac]`.
    pub(crate) link: LinkLayer,
    /// Path of the table of the link layer.
    pub(crate) link_path: String,
}

/// The keys of a radio, without those of its MAC.
#[derive(Default, Settings)]
#[settings(check = Self::check)]
struct RadioKeys {
    /// Number of the channel's centre in IEEE 802.11: 1 to 14 at 2.4 GHz, 36 for 5180 MHz, 42 for 80 MHz around 5210 MHz. Required if
    /// there are several radios; radios on overlapping channels interfere.
    #[key(1..=184)]
    channel: Option<u8>,
    /// Nodes that have this radio; by default all.
    #[key]
    nodes: Option<Vec<NodeRef>>,
    /// Physical layer and model of reception.
    // Last: the model decides which other keys there are.
    #[key(flatten)]
    params: RadioParams,
}

impl RadioKeys {
    fn check(&self, keys: &mut dyn Visitor) {
        let numbers = channel::numbers(self.params.phy);
        if let Some(found) = self.channel.filter(|found| !numbers.iter().any(|range| range.contains(found))) {
            let ranges: Vec<_> =
                numbers.iter().map(|all| format!("{} to {}", all.start(), all.end())).collect();
            let (allowed, phy) = (ranges.join(", "), self.params.phy.name);
            keys.refuse("channel", format!("found {found}, allowed with phy = {phy:?}: {allowed}"));
        }
    }
}

impl Fields for LinkTables {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let before = faults.len();
        let (empty, path) = (Node::default(&json!({})), keys.path_of("radio"));
        let shared = Shared {
            has_link_rates: keys.find("data_rate").is_some(),
            path: keys.path_of("mac"),
            mac: keys.find("mac"),
            empty: &empty,
        };
        let radios = match keys.find("radio") {
            Some(Node { value: Value::Array(items), .. }) if (1..=MAX_RADIOS).contains(&items.len()) => {
                let paths = (0..items.len()).map(|n| join(&path, &n.to_string()));
                items.iter().zip(paths).map_while(|(item, path)| shared.radio(item, path, faults)).collect()
            }
            Some(node @ Node { value: Value::Array(_), .. }) => {
                return wrong(node, &path, &format!("1 to {MAX_RADIOS} radios"), faults);
            }
            found => Vec::from_iter(shared.radio(found.unwrap_or(&empty), path, faults)),
        };
        let read = Self { radios };
        if let Some(mac) = shared.mac
            && !read.radios.is_empty()
            && read.radios.iter().all(|radio| radio.link_path != shared.path)
        {
            let message = "has no effect: every radio has a mac table of its own";
            faults.push(Fault::at(mac.origin, shared.path.as_str(), message));
        }
        (faults.len() == before).then_some(read)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let mut tables = Object::default();
        let about = "Physical layer and channel. Several tables [[radio]] are several radios of each node: the stations of one \
                     radio exchange frames, and those of different radios interfere with each other if their channels overlap.";
        let one = generator.subschema_for::<RadioTable>();
        let radios = json_schema!({
            "anyOf": [one, { "type": "array", "items": one, "minItems": 1, "maxItems": MAX_RADIOS }],
        });
        tables.described("radio", radios, about, Some(json!({})));
        let about = "Medium access and the interface queue.";
        tables.described("mac", LinkLayer::schema(), about, Some(json!({})));
        tables.schema()
    }
}

/// Keys that all radios may share.
struct Shared<'a> {
    has_link_rates: bool,
    mac: Option<&'a Node>,
    /// Path of the table `mac`.
    path: String,
    empty: &'a Node,
}

impl Shared<'_> {
    /// Reads one radio and its MAC.
    fn radio(&self, node: &Node, path: String, faults: &mut Faults<'_>) -> Option<RadioTable> {
        let before = faults.len();
        let mut table = Keys::open(node, &path, faults)?;
        let own = table.find("mac");
        let mut radio = RadioKeys::default();
        settings::take(&mut radio, "this protocol", &mut table, faults);
        table.close(faults);
        let RadioKeys { params, channel, nodes } = radio;
        let (link_path, mac) = match own {
            Some(own) => (join(&path, "mac"), own),
            None => (self.path.clone(), self.mac.unwrap_or(self.empty)),
        };
        let mut link = if faults.len() == before {
            LinkLayer::beside(&params, params.is_rate_given || self.has_link_rates)
        } else {
            LinkLayer::default()
        };
        let mut table = Keys::open(mac, &link_path, faults)?;
        settings::take(&mut link, "this protocol", &mut table, faults);
        table.close(faults);
        (faults.len() == before).then_some(RadioTable { path, params, channel, nodes, link, link_path })
    }
}

impl JsonSchema for RadioTable {
    fn schema_name() -> Cow<'static, str> {
        "Radio".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut radio = serde_json::Value::from(describe::schema_of(|keys| RadioKeys::default().keys(keys)));
        let mut mac = serde_json::Value::from(LinkLayer::schema());
        mac["description"] = "Medium access of this radio, instead of [mac].".into();
        // The first part of the schema has the keys that do not depend on the model.
        radio["allOf"][0]["properties"]["mac"] = mac;
        radio["unevaluatedProperties"] = false.into();
        Schema::try_from(radio).expect("a description is an object")
    }
}

/// Largest number of radios per node.
const MAX_RADIOS: usize = 8;

/// The MAC, and address resolution.
#[derive(Clone, Settings)]
pub(crate) struct LinkLayer {
    /// Medium access and the interface queue.
    #[key(flatten)]
    pub(crate) mac: MacParams,
    /// Address resolution: ARP as in ns-2 (ns2), ARP with a queue (queueing), or all addresses known in advance (oracle). Default: ns2;
    /// with flavour standard queueing.
    #[key(with = Self::arp_key)]
    pub(crate) arp: ArpKind,
}

impl LinkLayer {
    /// The defaults of the link layer for a radio. `is_rate_given`: the scenario fixes the data rates.
    fn beside(radio: &RadioParams, is_rate_given: bool) -> Self {
        Self { mac: MacParams::beside(radio, is_rate_given), ..Self::default() }
    }

    /// Describes the keys of the link layer. A default is included if it is the same for every radio.
    fn schema() -> Schema {
        let mut beside = vec![Self::default()];
        for phy in PROFILES {
            let radio = RadioParams::with_budget(phy, Budget::Street);
            for link in [true, false].map(|is_rate_given| Self::beside(&radio, is_rate_given)) {
                // The exploration of the keys of each takes long.
                if beside.iter().all(|known| known.mac != link.mac) {
                    beside.push(link);
                }
            }
        }
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

impl LinkLayer {
    fn arp_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        if self.mac.flavour == Flavour::Standard {
            self.arp = ArpKind::Queueing;
        }
        keys.about(help).field(name, &mut self.arp, ());
    }
}
