//! Scenario files: reads TOML or JSON and returns a checked [`Scenario`], or all problems of the document.
//!
//! * [`Source`] is the text of a scenario; [`Scenario::load`] reads it, with overrides such as `("seed", "7")`.
//! * [`Problems`] lists what is wrong: each [`Problem`] has its place, what was found, what is allowed, and the word
//!   that was probably meant.
//! * [`Extensions`] adds user-defined transports, routing protocols and congestion controls, which scenarios then name
//!   like the built-in ones.
//! * [`schema()`] is the JSON Schema of scenario files, from which the reference and the Python types are generated.
//! * [`Request`] is a scenario with its overrides, as results and journals store it.
//!
//! ```
//! use multihop_scenario::{Scenario, Source};
//!
//! let load = |text: &str| {
//!     let source = Source::Toml { text: text.to_owned(), name: "chain.toml".to_owned() };
//!     Scenario::load(&source, &[("seed".to_owned(), "7".to_owned())])
//! };
//! let text = r#"
//!     duration = 10.0
//!     topology = { kind = "chain", hops = 4 }
//!     flow = [{ transport = "newreno" }]
//! "#;
//! let scenario = load(text).expect("a valid scenario");
//! assert_eq!(scenario.seed, 7);
//! assert_eq!(scenario.flows.len(), 1);
//!
//! let problems = load(&text.replace("newreno", "newrenno")).expect_err("a misspelt transport");
//! assert!(problems.to_string().contains("newreno"));
//! ```
//!
//! Text becomes a document whose values keep their positions; overrides are applied; tables are read; checks turn them
//! into a [`Scenario`]. This crate neither simulates nor opens sockets; `multihop-sim` runs a scenario.

mod application;
mod bounds;
mod canonical;
mod check;
mod document;
pub mod draw;
mod examples;
mod extension;
mod faults;
mod geojson;
mod measured;
mod model;
mod motion;
mod nearest;
mod overrides;
mod positions;
mod problem;
mod read;
mod register;
mod request;
mod schema;
mod schema_with;
mod series;
mod tables;
mod topology;
mod transport;
mod wire_trace;

use std::path::Path;

use multihop_core::settings::Settings;
use multihop_transport::tpa;

use faults::Faults;

pub use application::{App, Codec, MessageChannel, VideoParams, VoiceParams, WebParams};
pub use canonical::{canonical, files};
pub use check::MAX_HOSTS;
pub use document::{Contents, Source};
pub use examples::{EXAMPLES, Example};
pub use extension::{CustomTransport, Extension, Extensions, NewControl, TransportConfig};
pub use model::{
    AgentProtocol, ArpKind, Axis, AxisValue, Drawn, Emulation, Flow, Gateway, Host, Members, Mobility, Port,
    Program, Protocol, Radio, Record, Routing, RoutingProtocol, Scenario, Series, Sleep, Sweep, Transport,
};
pub use positions::MAX_NODES;
pub use problem::{Place, Position, Problem, Problems};
pub use request::Request;
pub use schema::schema;
pub use schema_with::schema_with;
pub use topology::{Layout, NotConnected, Topology, find_station};
pub use transport::transport_name;
pub use wire_trace::{OPPORTUNITY, WireTrace};

/// Reads a configuration outside of scenarios, in TOML, with `overrides` (dotted path, TOML value or bare
/// string) applied in their order. Names, bounds and messages of the keys come from the configuration's type;
/// messages refer to the configuration as `name`.
pub fn read_settings(
    settings: &mut dyn Settings,
    name: &str,
    source: &Source,
    overrides: &[(String, String)],
) -> Result<(), Problems> {
    let mut root = source.parse().map_err(|faults| source.problems(None, faults, &[]))?;
    let extensions = Extensions::default();
    let mut faults = Faults::new(&extensions);
    overrides::apply(&mut root, overrides, &mut faults);
    if let Some(mut keys) = read::Keys::open(&root, "", &mut faults) {
        read::settings::take(settings, name, &mut keys, &mut faults);
        keys.close(&mut faults);
    }
    if faults.is_empty() { Ok(()) } else { Err(source.problems(Some(&root), faults.into_list(), overrides)) }
}

/// Chooses the transport of a real network: `kind` and its keys in `parameters`, with the names, bounds and
/// messages of scenario files. Keys of TPA, and those in `usual`, change `tpa`. Another transport is returned, with its
/// own keys.
pub fn set_transport(
    tpa: &mut tpa::Config,
    usual: &[(String, String)],
    parameters: &[(String, String)],
    extensions: &Extensions,
) -> Result<Option<CustomTransport>, Problems> {
    let kind = parameters.iter().rfind(|(key, _)| key == "kind");
    let is_other = |(_, kind): &(String, String)| !transport::is_tpa(kind, extensions);
    if kind.is_some_and(is_other) {
        take_transport(tpa, usual, extensions)?;
        return take_transport(tpa, parameters, extensions);
    }
    // Both are read together, because a profile among the parameters replaces all values that are not set.
    take_transport(tpa, &[usual, parameters].concat(), extensions)
}

fn take_transport(
    tpa: &mut tpa::Config,
    parameters: &[(String, String)],
    extensions: &Extensions,
) -> Result<Option<CustomTransport>, Problems> {
    let source = Source::Toml { text: String::new(), name: "the parameters of the transport".to_owned() };
    let mut root = source.parse().map_err(|faults| source.problems(None, faults, &[]))?;
    let mut faults = Faults::new(extensions);
    overrides::apply(&mut root, parameters, &mut faults);
    let custom = transport::take(&root, tpa, &mut faults);
    if faults.is_empty() {
        Ok(custom)
    } else {
        Err(source.problems(Some(&root), faults.into_list(), parameters))
    }
}

impl Scenario {
    /// Reads and checks a scenario, with `overrides` (dotted path, TOML value or bare string)
    /// applied in their order.
    pub fn load(source: &Source, overrides: &[(String, String)]) -> Result<Self, Problems> {
        Self::load_with(source, overrides, &Extensions::default())
    }

    /// Loads a scenario that may use the user-defined protocols in `extensions`.
    pub fn load_with(
        source: &Source,
        overrides: &[(String, String)],
        extensions: &Extensions,
    ) -> Result<Self, Problems> {
        Self::load_flows(source, overrides, extensions, 1)
    }

    /// Loads a network that may have no flows, because its traffic comes from elsewhere.
    pub fn load_network(
        source: &Source,
        overrides: &[(String, String)],
        extensions: &Extensions,
    ) -> Result<Self, Problems> {
        Self::load_flows(source, overrides, extensions, 0)
    }

    fn load_flows(
        source: &Source,
        overrides: &[(String, String)],
        extensions: &Extensions,
        fewest: usize,
    ) -> Result<Self, Problems> {
        let mut root = source.parse().map_err(|faults| source.problems(None, faults, &[]))?;
        let mut faults = Faults::new(extensions);
        overrides::apply(&mut root, overrides, &mut faults);
        let table: Option<tables::ScenarioTable> = read::Read::read(&root, "", &mut faults);
        // Tables are compared with each other only if each table is correct by itself.
        let table = table.filter(|_| faults.is_empty());
        let path = Path::new(source.name());
        let scenario = table.and_then(|table| check::scenario(&table, path, fewest, &mut faults));
        match scenario {
            Some(scenario) if faults.is_empty() => Ok(scenario),
            _ => Err(source.problems(Some(&root), faults.into_list(), overrides)),
        }
    }
}
