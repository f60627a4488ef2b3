//! Implements `multihop keygen`, which creates a private key.

use std::io::ErrorKind;

use anyhow::anyhow;
use multihop_net::{Identity, SecretFile, SharedKey};

use super::args::KeygenArgs;
use crate::{CommandError, output};

/// Makes a key pair: writes the private key, prints the public key. Or makes a shared key.
pub(crate) fn keygen(args: &KeygenArgs) -> Result<(), CommandError> {
    if args.shared {
        let key = SharedKey::generate().map_err(anyhow::Error::from)?;
        return Ok(key.save(&args.file).map_err(|error| problem(args, &error))?);
    }
    let identity = Identity::generate().map_err(anyhow::Error::from)?;
    identity.save(&args.file).map_err(|error| problem(args, &error))?;
    Ok(output::line(format_args!("{}", identity.public()))?)
}

fn problem(args: &KeygenArgs, error: &std::io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::AlreadyExists => anyhow!("{} exists already and is not overwritten", args.file.display()),
        _ => anyhow!("cannot write the key: {error}"),
    }
}
