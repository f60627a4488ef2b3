//! Congestion controls in Python: classes that a scenario names as transports.

mod base;
mod control;
mod signals;
mod window;

use std::sync::{Mutex, PoisonError};

use multihop_scenario::{Extension, Extensions, NewControl};
use multihop_transport::congestion::Algorithm;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyType;

pub(crate) use base::Base;
pub(crate) use control::{go_on, raised};
pub(crate) use signals::{Ack, RateSample};
pub(crate) use window::PyWindow;

use self::control::{Class, PyConfig};
use crate::ScenarioError;

/// A controller from Python: its name in scenarios, its version, and its class.
pub(crate) type Controller = (String, String, Py<PyType>);

/// A class under one name and version. It stays for the life of the process, like the classes themselves.
struct Registered {
    class: Py<PyType>,
    extension: Extension,
    make: NewControl,
}

static REGISTERED: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

/// The protocols of this package, and these controllers.
pub(crate) fn extensions(py: Python<'_>, controllers: Vec<Controller>) -> PyResult<Extensions> {
    let mut all = multihop_routing_extra::extensions();
    for (name, version, class) in controllers {
        if let Some(reason) = all.refuses_transport(&name) {
            return Err(ScenarioError::new_err(format!("controllers: {reason}")));
        }
        let (extension, make) = register(name, version, class.bind(py))?;
        all = all.congestion_made_by(extension, make);
    }
    Ok(all)
}

fn register(name: String, version: String, class: &Bound<'_, PyType>) -> PyResult<(Extension, NewControl)> {
    // A thread that waits here for another one detaches from Python: the other one may run Python code meanwhile.
    let mut registered = REGISTERED.lock_py_attached(class.py()).unwrap_or_else(PoisonError::into_inner);
    let is_known = |known: &&Registered| {
        known.extension.name == name && known.extension.version == version && known.class.is(class)
    };
    if let Some(known) = registered.iter().find(is_known) {
        return Ok((known.extension, known.make));
    }
    let config = PyConfig(Box::leak(Box::new(Class::new(name.clone(), class)?)));
    let extension =
        Extension { name: name.leak(), version: version.leak(), help: "A congestion control in Python." };
    let make: NewControl = Box::leak(Box::new(move || Algorithm::custom(config)));
    registered.push(Registered { class: class.clone().unbind(), extension, make });
    Ok((extension, make))
}
