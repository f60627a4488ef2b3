//! Interrupts from the keyboard end work in order, so that completed parts are kept.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::SigId;
use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

use crate::CommandError;

/// Records the first interrupt; a second one ends the program at once.
pub(crate) struct Interrupt {
    arrived: Arc<AtomicBool>,
    handlers: Vec<SigId>,
}

impl Interrupt {
    /// Catches interrupts from now on, until the value is dropped.
    pub(crate) fn catch() -> anyhow::Result<Self> {
        let arrived = Arc::new(AtomicBool::new(false));
        // In this order the first interrupt is recorded only after the check whether it is the first.
        let handlers = [
            flag::register_conditional_default(SIGINT, Arc::clone(&arrived)),
            flag::register(SIGINT, Arc::clone(&arrived)),
        ];
        let handlers = handlers.into_iter().collect::<Result<_, _>>().context("cannot handle interrupts")?;
        Ok(Self { arrived, handlers })
    }

    /// Returns `Break` after an interrupt, otherwise `Continue`.
    pub(crate) fn control(&self) -> ControlFlow<()> {
        if self.arrived.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Converts an error that an interrupt has caused into a report of the interrupt. `kept` describes the
    /// work that was kept.
    pub(crate) fn explain(&self, error: anyhow::Error, kept: impl FnOnce() -> String) -> CommandError {
        if self.control().is_break() {
            return CommandError::Interrupted { signal: SIGINT, kept: kept() };
        }
        error.into()
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}
