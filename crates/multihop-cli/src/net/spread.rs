//! Implements `multihop send --to-all` and `multihop recv --group`: one file to all nodes of a group.
//!
//! # Format
//!
//! | event of `--json` | members |
//! |---|---|
//! | `receivers`, of `send`, once a second | `receivers`: a list of `name`, `blocks`, `of`, `complete`, `refused` |
//! | `end`, of `send` | `receivers`, as above |
//! | `listening`, of `recv` | `group`, `key` |
//! | `received`, of `recv` | `name`, `bytes`, `from`; counts of dropped datagrams: `forged`, `replayed`, `invalid`, `unauthorized` |
//! | `failed` | `error` |

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use indicatif::HumanBytes;
use multihop_apps::spread::{self, Member, Progress};
use multihop_net::{Identity, Peers, PublicKey, SecretFile, SharedKey};
use multihop_sandbox::Needs;
use serde_json::json;

use super::args::{GroupArgs, NetArgs, RecvArgs, SendArgs, TransferArgs};
use super::confinement::{Confinement, folders_of_keys};
use super::meter::{Form, event, failed};
use super::{Kind, run, settings};
use crate::terminal::Verbosity;
use crate::{CommandError, output};

/// Sends one file to all nodes of a group.
pub(super) fn send(args: &SendArgs, group: SocketAddr, verbosity: Verbosity) -> Result<(), CommandError> {
    let [path] = &args.arguments[..] else {
        return Err(CommandError::Usage("--to-all sends only one file".to_owned()));
    };
    if !path.is_file() {
        let text = format!("--to-all: '{}' is not a file; pack a folder with tar first", path.display());
        return Err(CommandError::Usage(text));
    }
    let member = member(&args.net, &args.group, group)?;
    let form = Form::of(&args.transfer, verbosity);
    run(Kind::Task, &Confinement::none(), verbosity, &args.net.log, async {
        let report = |receivers: &[Progress]| show(form, receivers);
        let (expect, patience) = (args.expect.into(), args.transfer.patience);
        let sent = spread::send(&member, path, expect, patience, report).await;
        let receivers =
            sent.inspect_err(|error| failed(&args.transfer, "", error)).map_err(anyhow::Error::from)?;
        finish(&args.transfer, verbosity, &receivers)
    })
}

/// Receives, relays and repairs files of a group.
pub(super) fn receive(args: &RecvArgs, group: SocketAddr, verbosity: Verbosity) -> Result<(), CommandError> {
    if args.to == Path::new("-") {
        return Err(CommandError::Usage("--group needs a folder: pass --to DIR".to_owned()));
    }
    let member = member(&args.net, &args.group_options, group)?;
    let peers = settings::listening_peers(&args.net)?;
    let accepts = Box::new(move |key: PublicKey| match &peers {
        Peers::Exactly(peer) => *peer == key,
        Peers::Authorized(keys) => keys.contains(key),
        _ => false,
    });
    let needs = Needs {
        internet: true,
        read: folders_of_keys(&args.net),
        write: vec![args.to.clone()],
        ..Needs::default()
    };
    let confinement = Confinement::new(args.sandbox, needs)?;
    let kind = if args.once { Kind::Task } else { Kind::Service };
    run(kind, &confinement, verbosity, &args.net.log, async {
        let json = args.transfer.json;
        let opened = || {
            if json {
                event(
                    "listening",
                    "",
                    json!({ "group": group, "key": member.identity.public().to_string() }),
                );
            } else if !verbosity.quiet {
                output::line(format_args!("member of {group}")).map_err(std::io::Error::other)?;
            }
            confinement.enter().map_err(std::io::Error::other)
        };
        let received = |result: Result<spread::Received, String>, refused: spread::Refused| {
            match &result {
                Ok(file) => {
                    let members = json!({
                        "name": file.name, "bytes": file.size, "from": file.from.to_string(),
                        "forged": refused.forged, "replayed": refused.replayed, "invalid": refused.invalid,
                        "unauthorized": refused.unauthorized,
                    });
                    let name = multihop_apps::text::printable(&file.name);
                    let (size, from) = (HumanBytes(file.size), file.from);
                    if json {
                        event("received", "", members);
                    } else if !verbosity.quiet {
                        _ = output::line(format_args!("received {name}, {size}, from {from}"));
                    }
                }
                Err(error) => {
                    failed(&args.transfer, "", error);
                    tracing::error!(%error, "transfer failed");
                }
            }
            !(args.once && result.is_ok())
        };
        let done = spread::receive(&member, &args.to, args.overwrite, accepts, opened, received).await;
        Ok(done.map_err(anyhow::Error::from)?)
    })
}

/// Configuration of this host as a member of a group.
fn member(net: &NetArgs, options: &GroupArgs, group: SocketAddr) -> Result<Member, CommandError> {
    let (Some(key), Some(shared)) = (&net.key, &net.shared_key) else {
        let text = "a group needs --key FILE (multihop keygen) and --shared-key FILE, the same at all members \
                    (multihop keygen --shared)";
        return Err(CommandError::Usage(text.to_owned()));
    };
    let identity =
        Identity::load(key).context("cannot read the private key (multihop keygen creates one)")?;
    let shared = SharedKey::load(shared)
        .context("cannot read the shared key (multihop keygen --shared creates one)")?;
    let name = spread::host_name();
    Ok(Member { identity, shared, group, interfaces: options.interface.clone(), name })
}

/// Shows the progress of all receivers, once a second.
fn show(form: Form, receivers: &[Progress]) {
    match form {
        Form::Nothing => {}
        Form::Json => event("receivers", "", json!({ "receivers": entries(receivers) })),
        Form::Bar | Form::Lines => {
            let complete = receivers.iter().filter(|one| one.is_complete).count();
            let slowest = receivers.iter().filter(|one| !one.is_complete && !one.has_refused);
            let slowest = slowest.min_by_key(|one| one.blocks).map(|one| {
                let percent = 100 * u64::from(one.blocks) / u64::from(one.of.max(1));
                format!(", slowest: {} {percent}%", multihop_apps::text::printable(&one.name))
            });
            eprintln!("{complete} of {} receivers complete{}", receivers.len(), slowest.unwrap_or_default());
        }
    }
}

fn entries(receivers: &[Progress]) -> Vec<serde_json::Value> {
    let entry = |one: &Progress| {
        json!({
            "name": one.name, "blocks": one.blocks, "of": one.of, "complete": one.is_complete,
            "refused": one.has_refused,
        })
    };
    receivers.iter().map(entry).collect()
}

/// Prints the result; receivers that do not take the file are left out.
fn finish(args: &TransferArgs, verbosity: Verbosity, receivers: &[Progress]) -> Result<(), CommandError> {
    let refused: Vec<_> = receivers.iter().filter(|one| one.has_refused).collect();
    let complete = receivers.len() - refused.len();
    if args.json {
        event("end", "", json!({ "receivers": entries(receivers) }));
    } else if !verbosity.quiet {
        output::line(format_args!("{complete} receivers have the file"))?;
    }
    for one in &refused {
        eprintln!("multihop: {} does not take the file", multihop_apps::text::printable(&one.name));
    }
    if refused.is_empty() { Ok(()) } else { Err(CommandError::LeftOut(refused.len())) }
}
