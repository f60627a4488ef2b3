//! Configuration files of wmediumd, another medium of `mac80211_hwsim`: addresses of radios, and the quality of links.
//!
//! # Format
//!
//! | setting | allowed |
//! |---|---|
//! | `ifaces` | `ids`, and perhaps `count`. Without `model`: `links` with triples of two places in `ids` and the SNR, dB; the SNR of other links is 30 |
//! | `model.type = "snr"` | `default_snr`, and `links` as above |
//! | `model.type = "prob"` | `default_prob`, and `links` with the probability that a frame is lost; with 1 the stations neither receive nor disturb each other |
//! | `model.type = "path_loss"` | `model_name = "log_distance"` with `positions` (m), `tx_powers` (dBm), `path_loss_exp` and `xg` (dB) |
//!
//! Both directions of a link have the given value. The settings `enable_interference` and `band` are ignored.

mod syntax;

use std::f64::consts::PI;
use std::sync::Arc;

use multihop_core::{Instant, NodeId};
use multihop_radio::measured::{Interpolation, LinkTraces, Measurement, Quantity};
use multihop_radio::params::{Measured, Model};
use multihop_scenario::{Extensions, Problems, Scenario, Source};

use self::syntax::{Fault, Item, Place, Value};
use crate::hwsim::Address;

/// Network that a configuration file of wmediumd describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Wmediumd {
    /// Addresses of the radios.
    pub addresses: Vec<Address>,
    quantity: Quantity,
    /// SNR in dB or probability of a loss, for each transmitter and receiver.
    links: Vec<Vec<f64>>,
}

/// Why a file describes no network.
#[derive(Debug, thiserror::Error)]
pub enum WmediumdError {
    /// A mistake in the file.
    #[error("{name}:{line}:{column}: {problem}")]
    File {
        /// Name of the file.
        name: String,
        /// Number of the line with the mistake, from 1.
        line: usize,
        /// Number of the character in the line, from 1.
        column: usize,
        /// Place in the configuration, and what is allowed there.
        problem: String,
    },
    /// The changes of the scenario are not allowed.
    #[error(transparent)]
    Scenario(#[from] Problems),
    /// The changes of the scenario choose a radio model without ratios of signal to noise.
    #[error("radio.model: found \"threshold\", allowed with a file of wmediumd: \"sinr\"")]
    Model,
}

impl Wmediumd {
    /// Reads a configuration: `ifaces` with `ids` and perhaps `links`, and perhaps a `model` of the type `prob`, `snr` or
    /// `path_loss` with `log_distance`.
    pub fn read(text: &str, name: &str) -> Result<Self, WmediumdError> {
        Self::from_text(text).map_err(|(Place { line, column }, problem)| WmediumdError::File {
            name: name.to_owned(),
            line,
            column,
            problem,
        })
    }

    fn from_text(text: &str) -> Result<Self, Fault> {
        let settings = syntax::parse(text)?;
        let root = Group { path: "", at: Place { line: 1, column: 1 }, settings: &settings };
        root.allow(&["ifaces", "model"])?;
        let ifaces = root.group("ifaces")?.ok_or_else(|| root.missing("ifaces"))?;
        ifaces.allow(&["ids", "count", "links", "enable_interference"])?;
        let addresses = ifaces.addresses()?;
        let nodes = addresses.len();
        let Some(model) = root.group("model")? else {
            let links = ifaces.links(vec![vec![DEFAULT_SNR_DB; nodes]; nodes], SNR_DB)?;
            return Ok(Self { addresses, quantity: Quantity::Snr, links });
        };
        ifaces.allow(&["ids", "count", "enable_interference"])?;
        let (quantity, links) = model.links_of_model(nodes)?;
        Ok(Self { addresses, quantity, links })
    }

    /// The network as a scenario with 802.11g. `overrides` change it, like the option `--set`.
    pub fn scenario(
        &self,
        overrides: &[(String, String)],
        extensions: &Extensions,
    ) -> Result<Scenario, WmediumdError> {
        let nodes = self.addresses.len();
        let places: Vec<_> = (0..nodes).map(|node| format!("[{node}.0, 0.0]")).collect();
        let text = format!(
            "duration = 86400.0\n[topology]\nkind = \"list\"\npositions = [{}]\n[radio]\nphy = \"802.11g\"\nmodel = \"sinr\"\n",
            places.join(", ")
        );
        let source = Source::Toml { text, name: "wmediumd".to_owned() };
        let mut scenario = Scenario::load_network(&source, overrides, extensions)?;
        let node = |place| NodeId(u32::try_from(place).expect("at most 1000 radios"));
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        // A link without a trace has no signal. A trace of losses only would still disturb other receptions.
        let is_absent =
            |from: usize, to: usize| self.quantity == Quantity::Loss && self.links[from][to] >= 1.0;
        let between = pairs.filter(|&(from, to)| from != to && !is_absent(from, to));
        let measurement = |(from, to): (usize, usize)| Measurement {
            at: Instant::ZERO,
            from: node(from),
            to: node(to),
            value: self.links[from][to],
        };
        let measurements: Vec<_> = between.map(measurement).collect();
        let traces = Arc::new(LinkTraces::new(self.quantity, Interpolation::Hold, &measurements));
        for radio in &mut scenario.radios {
            let Model::Sinr(sinr) = &mut radio.params.model else { return Err(WmediumdError::Model) };
            let traces = Arc::clone(&traces);
            sinr.measured = Some(Box::new(Measured { traces, ..Measured::default() }));
        }
        Ok(scenario)
    }
}

/// Settings in one pair of braces, with their path in the file.
struct Group<'a> {
    path: &'a str,
    at: Place,
    settings: &'a [(String, Item)],
}

impl<'a> Group<'a> {
    fn get(&self, name: &str) -> Option<&'a Item> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, item)| item)
    }

    fn name_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn fault<T>(&self, item: &Item, name: &str, allowed: &str) -> Result<T, Fault> {
        let found = match &item.value {
            Value::Number(number) => format!("{number}"),
            Value::Text(text) => format!("{text:?}"),
            Value::Bool(yes) => format!("{yes}"),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Group(_) => "a group".to_owned(),
        };
        Err((item.at, format!("{}: found {found}, allowed: {allowed}", self.name_of(name))))
    }

    fn missing(&self, name: &str) -> Fault {
        (self.at, format!("{}: is missing", self.name_of(name)))
    }

    /// Refuses settings with other names.
    fn allow(&self, names: &[&str]) -> Result<(), Fault> {
        match self.settings.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, item)) => {
                let problem = format!("{}: is not used, allowed: {}", self.name_of(name), names.join(", "));
                Err((item.at, problem))
            }
        }
    }

    fn group(&self, name: &'a str) -> Result<Option<Self>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Item { value: Value::Group(settings), at }) => {
                Ok(Some(Self { path: name, at: *at, settings }))
            }
            Some(other) => self.fault(other, name, "a group in braces"),
        }
    }

    fn list(&self, name: &str, allowed: &str) -> Result<Option<&'a [Item]>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Item { value: Value::List(items), .. }) => Ok(Some(items)),
            Some(other) => self.fault(other, name, allowed),
        }
    }

    fn number(&self, name: &str, limits: Limits) -> Result<Option<f64>, Fault> {
        self.get(name).map(|item| self.number_of(item, name, limits)).transpose()
    }

    fn number_of(&self, item: &Item, name: &str, (least, most): Limits) -> Result<f64, Fault> {
        match item.value {
            Value::Number(number) if (least..=most).contains(&number) => Ok(number),
            _ => self.fault(item, name, &format!("{least} to {most}")),
        }
    }

    /// The addresses of the radios.
    fn addresses(&self) -> Result<Vec<Address>, Fault> {
        let allowed = format!("a list of 2 to {MAX_RADIOS} addresses such as \"02:00:00:00:00:00\"");
        let ids = self.list("ids", &allowed)?.ok_or_else(|| self.missing("ids"))?;
        let whole = self.get("ids").ok_or_else(|| self.missing("ids"))?;
        if !(2..=MAX_RADIOS).contains(&ids.len()) {
            return self.fault(whole, "ids", &allowed);
        }
        let mut addresses = Vec::new();
        for id in ids {
            let Value::Text(text) = &id.value else { return self.fault(id, "ids", &allowed) };
            let Some(address) = address(text).filter(|address| !addresses.contains(address)) else {
                return self.fault(id, "ids", "addresses of stations, each one once");
            };
            addresses.push(address);
        }
        if let Some(count) = self.get("count") {
            let wanted = addresses.len();
            if count.value != Value::Number(f64::from(u32::try_from(wanted).unwrap_or(0))) {
                return self.fault(count, "count", &format!("{wanted}, the number of ids"));
            }
        }
        Ok(addresses)
    }

    /// Sets the values of both directions of links, which are triples of transmitter, receiver and value.
    fn links(&self, mut links: Vec<Vec<f64>>, limits: Limits) -> Result<Vec<Vec<f64>>, Fault> {
        let allowed = "a list of links such as (0, 1, 10)";
        for link in self.list("links", allowed)?.unwrap_or_default() {
            let Value::List(parts) = &link.value else { return self.fault(link, "links", allowed) };
            let [from, to, value] = parts.as_slice() else { return self.fault(link, "links", allowed) };
            let value = self.number_of(value, "links", limits)?;
            let [from, to] = [self.place(from, links.len())?, self.place(to, links.len())?];
            links[from][to] = value;
            links[to][from] = value;
        }
        Ok(links)
    }

    /// The place of a radio among the ids.
    fn place(&self, item: &Item, nodes: usize) -> Result<usize, Fault> {
        let is_place =
            |place: &usize| item.value == Value::Number(f64::from(u32::try_from(*place).unwrap_or(0)));
        match (0..nodes).find(is_place) {
            Some(place) => Ok(place),
            None => self.fault(item, "links", &format!("0 to {}, the places of the ids", nodes - 1)),
        }
    }

    /// The links that a model describes.
    fn links_of_model(&self, nodes: usize) -> Result<(Quantity, Vec<Vec<f64>>), Fault> {
        let kind = self.get("type").ok_or_else(|| self.missing("type"))?;
        let all = |value| vec![vec![value; nodes]; nodes];
        match &kind.value {
            Value::Text(kind) if kind == "prob" => {
                self.allow(&["type", "default_prob", "links"])?;
                let default = self.number("default_prob", PROBABILITY)?.unwrap_or(0.0);
                Ok((Quantity::Loss, self.links(all(default), PROBABILITY)?))
            }
            Value::Text(kind) if kind == "snr" => {
                self.allow(&["type", "default_snr", "links"])?;
                let default = self.number("default_snr", SNR_DB)?.unwrap_or(DEFAULT_SNR_DB);
                Ok((Quantity::Snr, self.links(all(default), SNR_DB)?))
            }
            Value::Text(kind) if kind == "path_loss" => Ok((Quantity::Snr, self.log_distance(nodes)?)),
            _ => self.fault(kind, "type", "\"prob\", \"snr\", \"path_loss\""),
        }
    }

    /// SNR of all links by the law of log distance.
    fn log_distance(&self, nodes: usize) -> Result<Vec<Vec<f64>>, Fault> {
        self.allow(&["type", "model_name", "positions", "tx_powers", "path_loss_exp", "xg", "band"])?;
        let name = self.get("model_name").ok_or_else(|| self.missing("model_name"))?;
        if name.value != Value::Text("log_distance".to_owned()) {
            return self.fault(name, "model_name", "\"log_distance\"");
        }
        let exponent = self.number("path_loss_exp", (0.0, 10.0))?;
        let exponent = exponent.ok_or_else(|| self.missing("path_loss_exp"))?;
        let fixed = self.number("xg", SNR_DB)?.unwrap_or(0.0);
        let mut places = Vec::new();
        for item in self.one_each("positions", nodes)? {
            let Value::List(parts) = &item.value else { return self.fault(item, "positions", PLACE) };
            if !(2..=3).contains(&parts.len()) {
                return self.fault(item, "positions", PLACE);
            }
            let metres = |part| self.number_of(part, "positions", METRES);
            places.push(parts.iter().map(metres).collect::<Result<Vec<_>, _>>()?);
        }
        let powers = self.one_each("tx_powers", nodes)?.iter();
        let powers = powers.map(|item| self.number_of(item, "tx_powers", SNR_DB));
        let powers = powers.collect::<Result<Vec<_>, _>>()?;
        let at_one_metre = 20.0 * (4.0 * PI * FREQUENCY_HZ / LIGHT_M_PER_S).log10();
        let snr = |from: usize, to: usize| {
            let apart =
                places[from].iter().zip(&places[to]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            let loss = at_one_metre + 10.0 * exponent * apart.max(1.0).log10() + fixed;
            powers[from] - loss - NOISE_DBM
        };
        Ok((0..nodes).map(|from| (0..nodes).map(|to| snr(from, to)).collect()).collect())
    }

    /// A list with one entry for each radio.
    fn one_each(&self, name: &str, nodes: usize) -> Result<&'a [Item], Fault> {
        let allowed = format!("a list of {nodes}, one for each id");
        let whole = self.get(name).ok_or_else(|| self.missing(name))?;
        match self.list(name, &allowed)? {
            Some(items) if items.len() == nodes => Ok(items),
            _ => self.fault(whole, name, &allowed),
        }
    }
}

/// The address of a station in hexadecimal digits. The kernel's name of a radio, which has a further bit, becomes the radio's address.
fn address(text: &str) -> Option<Address> {
    let bytes = text.split(':').map(|part| u8::from_str_radix(part, 16)).collect::<Result<Vec<_>, _>>();
    let mut address: Address = bytes.ok()?.try_into().ok()?;
    address[0] &= !0x40;
    (address[0] & 1 == 0).then_some(address)
}

/// Smallest and largest allowed number.
type Limits = (f64, f64);

const SNR_DB: Limits = (-200.0, 200.0);
const PROBABILITY: Limits = (0.0, 1.0);
const METRES: Limits = (-1e6, 1e6);
const PLACE: &str = "a place such as (0.0, 50.0)";
const MAX_RADIOS: usize = 1000;
/// SNR of links without a value, as in wmediumd, dB.
const DEFAULT_SNR_DB: f64 = 30.0;
/// Noise and frequency that wmediumd assumes for path loss.
const NOISE_DBM: f64 = -91.0;
const FREQUENCY_HZ: f64 = 2.412e9;
const LIGHT_M_PER_S: f64 = 299_792_458.0;

#[cfg(test)]
mod tests;
