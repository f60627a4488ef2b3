//! Tables of the quantities that the built-in transports declare.

use crate::observe::{Quantity, Row};
use crate::{mesh, tcp, tpa};

/// The quantities of all built-in transports. A quantity that several transports declare occurs several
/// times.
pub fn built_in_quantities() -> impl Iterator<Item = &'static Quantity> {
    let tcp = tcp::OBSERVED.iter().chain(&tcp::OBSERVED_OF_ADTCP).map(Row::quantity);
    tcp.chain(tpa::OBSERVED.iter().map(Row::quantity)).chain(mesh::OBSERVED.iter().map(Row::quantity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_of_scenarios_and_descriptions_are_sentences() {
        for quantity in built_in_quantities() {
            let Quantity { name, unit, about, .. } = quantity;
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(!name.is_empty() && name.chars().all(is_plain) && unit.chars().all(is_plain), "{name}");
            assert!(about.ends_with('.') && about.starts_with(char::is_uppercase), "{name}: {about}");
        }
    }

    #[test]
    fn a_name_has_one_meaning_in_all_transports() {
        for quantity in built_in_quantities() {
            for other in built_in_quantities().filter(|other| other.name == quantity.name) {
                assert_eq!(quantity, other);
            }
        }
    }
}
