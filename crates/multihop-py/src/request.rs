//! A scenario as the Python package passes it.

use multihop_scenario::{Extensions, Problems, Scenario, Source};
use pyo3::prelude::*;

use crate::ScenarioError;
use crate::congestion::{Controller, extensions};

/// A scenario from Python: text, format (`toml` or `json`), name, overrides, and controllers.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) source: Source,
    pub(crate) overrides: Vec<(String, String)>,
    /// The protocols that the scenario may name besides the built-in ones.
    pub(crate) extensions: Extensions,
}

type Parts = (String, String, String, Vec<(String, String)>, Vec<Controller>);

impl<'a, 'py> FromPyObject<'a, 'py> for Request {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let (text, format, name, overrides, controllers): Parts = given.extract()?;
        let source = match format.as_str() {
            "toml" => Source::Toml { text, name },
            "json" => Source::Json { text, name },
            other => {
                let message = format!("format is {other:?}, allowed: toml, json");
                return Err(ScenarioError::new_err(message));
            }
        };
        Ok(Self { source, overrides, extensions: extensions(given.py(), controllers)? })
    }
}

impl Request {
    /// Reads and checks the scenario.
    pub(crate) fn load(&self) -> PyResult<Scenario> {
        Scenario::load_with(&self.source, &self.overrides, &self.extensions).map_err(refused)
    }
}

/// The exception for problems of a scenario.
pub(crate) fn refused(problems: Problems) -> PyErr {
    ScenarioError::new_err(problems.to_string())
}
