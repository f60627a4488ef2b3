//! Programs over streams of [`multihop_net`]: what the commands `multihop send`, `recv`, `perf` and `tunnel` do.
//!
//! | module | for |
//! |---|---|
//! | [`files`] | files and folders, which a later transfer completes |
//! | [`code`] | two people who read four words to each other instead of copying keys |
//! | [`perf`] | measurements of goodput, loss and delay |
//! | `spread` | one file to all nodes of a group, by multicast (Unix) |
//! | [`tunnel`] | TCP, UDP and IP packets of other programs |
//! | `bridge` | streams as descriptors, for threads and languages without tokio (Unix) |
//!
//! Transfers take any stream of bytes, so that a pipe serves as well:
//!
//! ```
//! use multihop_apps::files::{Options, Sources, Target, receive, send};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let inbox = tempfile::tempdir()?;
//! let (near, far) = tokio::io::duplex(10_000);
//! let mut sources = Sources::new();
//! sources.add_stream("greeting", Box::new(&b"hello"[..]))?;
//! let target = Target::Folder(inbox.path().to_owned());
//! let (mut sending, mut receiving) = (|_| (), |_| ()); // Called with the progress.
//! let (sent, received) = tokio::join!(
//!     send(near, sources, Options::default(), &mut sending),
//!     receive(far, target, Options::default(), &mut receiving),
//! );
//! assert_eq!((sent?.moved, received?.moved), (5, 5));
//! assert_eq!(std::fs::read(inbox.path().join("greeting"))?, b"hello");
//! # Ok(())
//! # }
//! ```
//!
//! [`dial()`] opens a stream to a host by name. Nothing here prints, reads arguments or handles signals: the command does.

mod frames;
mod interfaces;

#[cfg(unix)]
pub mod bridge;
pub mod code;
mod dial;
pub mod files;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod perf;
#[cfg(unix)]
pub mod spread;
pub mod text;
pub mod tunnel;

pub use dial::dial;
pub use interfaces::reachable_at;
