//! `[[program]]`.

use multihop_core::settings::{Allowed, Settings, Value, Visitor};

use super::{LONGEST_TEXT, NodeRef, SECONDS, TIME_SPAN};

/// A real program in an emulation.
pub(crate) struct ProgramTable {
    pub(crate) node: NodeRef,
    pub(crate) command: String,
    /// s.
    pub(crate) start: f64,
    /// s.
    pub(crate) stop: Option<f64>,
    /// Each as `NAME=value`.
    pub(crate) environment: Vec<String>,
}

impl Default for ProgramTable {
    fn default() -> Self {
        let (node, command) = (NodeRef::Number(0), String::new());
        Self { node, command, start: 0.0, stop: None, environment: Vec::new() }
    }
}

impl Settings for ProgramTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "The node or host whose network the program has.";
        if let Some(node) = keys.about(about).required().value("node", Allowed::Node, None) {
            self.node = node.into();
        }
        let about = "Command line for sh; $ADDRESS_N is the address of node or host N.";
        keys.about(about).required().text("command", &mut self.command, LONGEST_COMMAND);
        keys.about("When the program starts, s.").number("start", &mut self.start, SECONDS);
        let about = "When it gets the signal SIGTERM, s; by default at the end of the run.";
        keys.about(about).number_if_set("stop", &mut self.stop, TIME_SPAN);
        let about = "Further environment variables, each as \"NAME=value\".";
        let allowed = Allowed::List(&Allowed::Text(LONGEST_TEXT), None);
        let given = keys.about(about).value("environment", allowed, Some(Value::List(Vec::new())));
        let given = given.map_or_else(Vec::new, Value::into_list);
        self.environment = given.into_iter().map(Value::into_text).collect();
    }
}

const LONGEST_COMMAND: usize = 10_000;
