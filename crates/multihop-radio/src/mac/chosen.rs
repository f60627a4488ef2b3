//! Choice between the rules of ns-2 and of the standard for the stations of a radio.

use crate::params::Flavour;

/// The rules that all stations of a radio follow. They are chosen at creation, so that a decision costs a
/// comparison instead of a virtual call.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExchangeRules {
    Ns2,
    Standard,
}

/// Calls a function of the chosen rules. Paths are absolute, because other modules expand the macro.
macro_rules! by_rules {
    ($rules:expr, $function:ident($($argument:expr),*)) => {
        match $rules {
            $crate::mac::chosen::ExchangeRules::Ns2 => {
                <$crate::mac::ns2::Ns2 as $crate::mac::rules::Rules>::$function($($argument),*)
            }
            $crate::mac::chosen::ExchangeRules::Standard => {
                <$crate::mac::standard::Standard as $crate::mac::rules::Rules>::$function($($argument),*)
            }
        }
    };
}
pub(super) use by_rules;

impl ExchangeRules {
    pub(super) fn new(flavour: Flavour) -> Self {
        match flavour {
            Flavour::Ns2 => Self::Ns2,
            Flavour::Standard => Self::Standard,
        }
    }
}
