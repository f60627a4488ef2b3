//! QUIC stacks as simulated transports, and congestion controls of multihop inside QUIC.
//!
//! | item | for |
//! |---|---|
//! | [`register`] | the transports `quinn` and `noq` in scenarios, each with its own controllers and those of multihop |
//! | [`Quinn`], [`Noq`] | the keys of both transports |
//! | [`OverQuinn`], [`OverNoq`] | a simulated transport with your congestion control |
//! | [`ControlFactory`] | your congestion control, or one of multihop, in a program with quinn or noq |
//!
//! quinn-proto and noq-proto are state machines: packets and time in, packets out. A simulated flow is one connection
//! with real packets, encryption included. Each piece of data that the application sends is a stream of its own; an
//! endless source is one stream. Datagrams are payloads of UDP, and MTU discovery is on, as in programs with quinn.
//!
//! ```
//! use std::sync::Arc;
//! use multihop_quic::ControlFactory;
//! use multihop_transport::congestion::Variant;
//!
//! // The client of a program with quinn: quinn::TransportConfig is this type.
//! let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(ControlFactory::new(Variant::Bbr3)));
//! ```

mod controller;
mod samples;

#[cfg(feature = "simulator")]
mod config;
#[cfg(feature = "simulator")]
mod end;
#[cfg(feature = "simulator")]
mod noq;
#[cfg(feature = "simulator")]
mod quinn;
#[cfg(feature = "simulator")]
mod tls;

#[cfg(feature = "simulator")]
pub use config::{Noq, NoqControl, OverNoq, OverQuinn, Quinn, QuinnControl, register};
pub use controller::ControlFactory;
