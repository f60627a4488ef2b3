//! Implements `multihop keys`: the keys of known listeners and of callers that may connect.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use multihop_net::{AuthorizedKeys, KnownPeers};

use super::args::{AddKey, KeyFiles, KeysAction, KeysArgs, RemoveKey};
use crate::{CommandError, output};

/// Lists, adds or removes keys of other hosts.
pub(crate) fn keys(args: &KeysArgs) -> Result<(), CommandError> {
    match &args.action {
        KeysAction::List => list(&args.files),
        KeysAction::Add(key) => add(&args.files, key),
        KeysAction::Remove(key) => remove(&args.files, key),
    }
}

impl KeyFiles {
    /// Known listeners with their keys, and the path of their file.
    pub(super) fn known(&self) -> Result<(KnownPeers, PathBuf), CommandError> {
        let path = self.known_path()?;
        Ok((KnownPeers::load(&path).map_err(anyhow::Error::from)?, path))
    }

    /// Path of the file of known listeners.
    pub(super) fn known_path(&self) -> anyhow::Result<PathBuf> {
        path_of(self.known_peers.as_deref(), "known_peers", "--known-peers")
    }

    /// Path of the file of callers that may connect.
    pub(super) fn authorized_path(&self) -> anyhow::Result<PathBuf> {
        path_of(self.authorized_keys.as_deref(), "authorized_keys", "--authorized-keys")
    }

    /// Keys of authorised callers, and the path of the file.
    pub(super) fn authorized(&self) -> Result<(AuthorizedKeys, PathBuf), CommandError> {
        let path = self.authorized_path()?;
        Ok((AuthorizedKeys::load(&path).map_err(anyhow::Error::from)?, path))
    }
}

fn list(files: &KeyFiles) -> Result<(), CommandError> {
    let (known, path) = files.known()?;
    output::line(format_args!("known listeners, in {}:", path.display()))?;
    for (name, key) in known.entries() {
        output::line(format_args!("  {key}  {name}"))?;
    }
    let (authorized, path) = files.authorized()?;
    output::line(format_args!("callers that may connect, in {}:", path.display()))?;
    for (key, note) in authorized.entries() {
        output::line(format_args!("{}", format!("  {key}  {note}").trim_end()))?;
    }
    Ok(())
}

fn add(files: &KeyFiles, added: &AddKey) -> Result<(), CommandError> {
    let result = match added {
        AddKey::Known { name, key } => files.known()?.0.remember(&name.to_string(), *key).map(drop),
        AddKey::Authorized { key, note } => files.authorized()?.0.add(*key, note.trim()).map(drop),
    };
    Ok(result.map_err(anyhow::Error::from)?)
}

fn remove(files: &KeyFiles, removed: &RemoveKey) -> Result<(), CommandError> {
    let (count, what, path) = match removed {
        RemoveKey::Known { name } => {
            let (known, path) = files.known()?;
            (known.forget(&name.to_string()), name.to_string(), path)
        }
        RemoveKey::Authorized { key } => {
            let (authorized, path) = files.authorized()?;
            (authorized.remove(key.trim()), key.clone(), path)
        }
    };
    match count.map_err(anyhow::Error::from)? {
        0 => Err(anyhow!("'{what}' is not in {}", path.display()).into()),
        _ => Ok(()),
    }
}

fn path_of(given: Option<&Path>, name: &str, option: &str) -> anyhow::Result<PathBuf> {
    match given {
        Some(path) => Ok(path.to_path_buf()),
        None => Ok(data_folder(option)?.join("multihop").join(name)),
    }
}

/// Folder of the user's data, by the XDG Base Directory Specification.
fn data_folder(option: &str) -> anyhow::Result<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("XDG_DATA_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local/share")))
        .ok_or_else(|| anyhow!("neither XDG_DATA_HOME nor HOME is set: pass {option} FILE"))
}
