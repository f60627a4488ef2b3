//! TPA packet scripts. Segments carry 1000 bytes; blocks have 4 of them, and are numbered from 1.

mod acks;
mod figures;
mod properties;
mod templates;
