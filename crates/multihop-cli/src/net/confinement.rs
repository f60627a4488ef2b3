//! The sandbox of a long-running command.
//!
//! # Rights
//!
//! | command | rights at the start | rights kept | reads | writes | sockets |
//! |---|---|---|---|---|---|
//! | `recv --group` | none | none | DIR, folders of keys | DIR | IP, netlink; no TCP |
//! | `recv --to DIR` | none, or root | none; root keeps CAP_DAC_OVERRIDE and CAP_FOWNER in another user's DIR | DIR, folders of keys | DIR | IP, netlink; no TCP |
//! | `recv` with a code | none | none | DIR, folders of keys, `/etc`, `/run` | DIR | IP, netlink, Unix; no TCP |
//! | `perf --listen` | none | none | folders of keys | nothing | IP, netlink; no TCP |
//! | `tunnel --listen` | none; CAP_NET_ADMIN with `--tun` | CAP_NET_RAW, for marks | folders of keys, `/etc`, `/run` | nothing | IP, netlink, Unix |
//! | `tunnel HOST` | none; CAP_NET_ADMIN with `--tun` or TPROXY | none; CAP_NET_RAW with `--fallback-tcp` | `/etc`, `/run` | `known_peers` | IP, netlink, Unix |
//! | `route` | CAP_NET_ADMIN, CAP_NET_BIND_SERVICE; CAP_NET_RAW with `aodv` and `apdr-pr` | CAP_NET_ADMIN, CAP_NET_BIND_SERVICE | folders of configuration and key | `/proc/sys/net` | IP, netlink, Unix; no TCP |
//! | `route status --page` | none | none | nothing | nothing | Unix |
//! | server of `--metrics` | the command's | none, in its threads | nothing | nothing | Unix with `route` |
//! | server of `--live` | the command's | none, in its threads | the recording | nothing | none |
//!
//! *IP* means UDP and TCP of IPv4 and IPv6, without raw and packet sockets. All commands also read `/usr`,
//! `/lib*`, `/proc` and parts of `/sys`. Marks need CAP_NET_ADMIN before Linux 5.17.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use multihop_sandbox::{Needs, Sandbox};
use tokio::runtime::Builder;

use super::args::{KeyFiles, NetArgs, SandboxArgs};

/// The sandbox of a command. Threads of the runtime enter it at their start; the main thread enters it when
/// all sockets and interfaces are open, because only the main thread opens objects that need privileges.
#[derive(Clone)]
pub(super) struct Confinement(Option<Arc<Sandbox>>);

impl Confinement {
    /// Confinement of a command that keeps all rights.
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// Confinement of a command with these needs.
    pub(super) fn new(args: SandboxArgs, needs: Needs) -> anyhow::Result<Self> {
        if args.no_sandbox {
            return Ok(Self::none());
        }
        let sandbox = Sandbox::prepare(needs).context(FAILED)?;
        Ok(Self(Some(Arc::new(sandbox))))
    }

    /// Makes all threads of a runtime enter the sandbox. A thread cannot detect whether the thread that
    /// started it was inside, so each thread enters, possibly again.
    pub(super) fn confine_threads(&self, runtime: &mut Builder) {
        let Some(sandbox) = self.0.clone() else { return };
        runtime.on_thread_start(move || {
            if let Err(error) = sandbox.enter() {
                // The main thread fails in the same way, and the command ends.
                tracing::debug!("cannot drop the rights of a thread: {error}");
            }
        });
    }

    /// The main thread enters the sandbox.
    pub(super) fn enter(&self) -> anyhow::Result<()> {
        self.0.as_ref().map_or(Ok(()), |sandbox| sandbox.enter()).context(FAILED)
    }
}

/// The folders of all key files that a listener reads, also after a reload. An editor replaces files, so that
/// access to the folders is needed.
pub(super) fn folders_of_keys(args: &NetArgs) -> Vec<PathBuf> {
    let files = KeyFiles { known_peers: None, authorized_keys: args.authorized_keys.clone() };
    let authorized = args.key.is_some().then(|| files.authorized_path().ok()).flatten();
    let given = [&args.key, &args.shared_key].into_iter().flatten().cloned();
    given.chain(authorized).map(|path| folder_of(&path)).collect()
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

const FAILED: &str = "cannot drop rights (--no-sandbox keeps them)";
