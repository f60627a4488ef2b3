//! The choice of a congestion control.

use alloc::sync::Arc;

use multihop_core::settings::{Settings, Visitor};

use super::Variant;
use super::control::CongestionConfig;
use super::signals::Signals;
use crate::observe::Quantity;

/// The congestion control of a connection: built-in or user-defined.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Algorithm {
    /// A congestion control of this crate.
    BuiltIn(Variant),
    /// A congestion control that the user has written, with its parameters.
    Custom(Custom),
}

impl Algorithm {
    /// A user-defined congestion control with its parameters.
    pub fn custom<C: CongestionConfig + 'static>(config: C) -> Self {
        Self::Custom(Custom(Arc::new(config)))
    }

    /// The signals that the control needs and that cost something to provide.
    pub fn signals(&self) -> Signals {
        match self {
            Self::BuiltIn(variant) => variant.signals(),
            Self::Custom(custom) => custom.config().signals(),
        }
    }

    /// The quantity number `index` that the control declares.
    pub fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Custom(custom) => custom.config().quantity(index),
        }
    }

    /// Whether this is ADTCP, which needs the receiver's reports.
    pub(crate) fn is_adtcp(&self) -> bool {
        *self == Self::BuiltIn(Variant::Adtcp)
    }
}

impl From<Variant> for Algorithm {
    fn from(variant: Variant) -> Self {
        Self::BuiltIn(variant)
    }
}

/// The keys of a user-defined congestion control; built-in ones have only those of TCP.
impl Settings for Algorithm {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        if let Self::Custom(custom) = self {
            custom.config_mut().keys(keys);
        }
    }
}

/// A user-defined congestion control with its parameters. Two values are equal if one is a copy of the other
/// and its keys were not visited since.
#[derive(Clone, Debug)]
pub struct Custom(Arc<dyn CongestionConfig>);

impl Custom {
    pub(crate) fn config(&self) -> &dyn CongestionConfig {
        &*self.0
    }

    fn config_mut(&mut self) -> &mut dyn CongestionConfig {
        if Arc::get_mut(&mut self.0).is_none() {
            self.0 = self.0.clone_config();
        }
        Arc::get_mut(&mut self.0).expect("the copy is not shared")
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Custom {}

#[cfg(test)]
mod tests {
    use super::super::{CongestionControl, Window};
    use super::*;

    #[derive(Clone, Debug, Settings)]
    struct Unused;

    impl CongestionConfig for Unused {
        fn control(&self, _window: Window) -> Box<dyn CongestionControl> {
            unreachable!("no connection is made")
        }
    }

    #[test]
    fn a_copy_whose_keys_are_visited_is_no_longer_shared() {
        let mut custom = Custom(Arc::new(Unused));
        let copy = custom.clone();
        assert_eq!(custom, copy);
        custom.config_mut();
        assert_ne!(custom, copy);
        assert_eq!(Arc::strong_count(&copy.0), 1);
    }
}
