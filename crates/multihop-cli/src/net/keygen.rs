//! `multihop keygen`.

use std::io::ErrorKind;

use anyhow::anyhow;
use multihop_net::Identity;

use super::args::KeygenArgs;
use crate::{CommandError, output};

/// Makes a key pair: writes the private key, prints the public key.
pub(crate) fn keygen(args: &KeygenArgs) -> Result<(), CommandError> {
    let identity = Identity::generate().map_err(anyhow::Error::from)?;
    let file = args.file.display();
    identity.save(&args.file).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            anyhow!("{file} exists already and is not overwritten")
        }
        _ => anyhow!("cannot write the private key: {error}"),
    })?;
    Ok(output::line(format_args!("{}", identity.public()))?)
}
