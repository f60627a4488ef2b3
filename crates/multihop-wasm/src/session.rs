//! One run and its answers as JSON.

use multihop_core::Instant;
use multihop_scenario::{Scenario, Source};
use multihop_sim::viewed::{Nodes, ViewedRun};
use serde::{Deserialize, Serialize};

use crate::description::Description;

/// What the page asks for.
#[derive(Deserialize)]
struct Request {
    /// The scenario: TOML, or JSON if `json`.
    text: String,
    #[serde(default)]
    json: bool,
    name: String,
    #[serde(default)]
    overrides: Vec<(String, String)>,
}

/// One run.
pub(crate) struct Session {
    /// `None` after its end.
    run: Option<ViewedRun<'static>>,
    /// Records of the packets still in transit at the end.
    last: Vec<u32>,
}

impl Session {
    /// The run that a request describes, and the description of its network; or what is wrong.
    pub(crate) fn new(request: &[u8]) -> Result<(Self, Vec<u8>), String> {
        let request: Request = serde_json::from_slice(request).map_err(|error| error.to_string())?;
        let Request { text, json, name, overrides } = request;
        let source = if json { Source::Json { text, name } } else { Source::Toml { text, name } };
        let scenario = Scenario::load(&source, &overrides).map_err(|problems| problems.to_string())?;
        // A module has one run; its memory ends with it.
        let scenario: &'static Scenario = Box::leak(Box::new(scenario));
        let nodes = Nodes::of(scenario).map_err(|error| error.to_string())?;
        let description = to_json(&Description::of(scenario, &nodes));
        let run = ViewedRun::new(scenario).map_err(|error| error.to_string())?;
        Ok((Self { run: Some(run), last: Vec::new() }, description))
    }

    pub(crate) fn advance(&mut self, at: Instant) {
        if let Some(run) = &mut self.run {
            run.advance(at);
        }
    }

    pub(crate) fn set_detailed(&mut self, detailed: bool) {
        if let Some(run) = &mut self.run {
            run.set_detailed(detailed);
        }
    }

    pub(crate) fn records(&mut self) -> &[u32] {
        match &mut self.run {
            Some(run) => run.records(),
            None => &self.last,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.last.clear();
        if let Some(run) = &mut self.run {
            run.clear();
        }
    }

    pub(crate) fn names(&mut self) -> Vec<u8> {
        self.run.as_mut().map(|run| to_json(&run.names())).unwrap_or_default()
    }

    pub(crate) fn fields(&mut self) -> Vec<u8> {
        self.run.as_mut().map(|run| to_json(&run.fields())).unwrap_or_default()
    }

    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let result = self.run.take().map(|run| run.finish(&mut self.last));
        result.map(|result| to_json(&result)).unwrap_or_default()
    }
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("every key is a string")
}
