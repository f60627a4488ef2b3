//! Parts that link-state protocols share, whatever the format of their messages: OLSR and APDR here, OLSRv2 in another crate.
//!
//! | module | part | |---|---| | [`table`] | information sets: tuples with expiry times | | [`hysteresis`] |
//! quality of a link, by the packets that arrive | | [`relays`] | election of multipoint relays (MPRs) | |
//! [`duplicates`] | flooded messages that were received | | [`interfaces`] | addresses of a node with several
//! interfaces, and its forwarded messages | | [`search`] | paths of least cost | | [`config`] | keys of
//! intervals and hold times |

pub mod config;
pub mod duplicates;
pub mod hysteresis;
pub mod interfaces;
pub mod relays;
pub mod search;
pub mod table;
