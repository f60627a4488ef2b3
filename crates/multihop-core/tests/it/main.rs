//! Tests of the public interface.

mod settings;
