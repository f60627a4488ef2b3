//! `multihop keygen`.

use std::io::ErrorKind;

use anyhow::anyhow;
use multihop_net::Identity;

use super::args::KeygenArgs;
use crate::{Failure, output};

/// Makes a key pair: writes the private half, prints the public one.
pub(crate) fn keygen(args: &KeygenArgs) -> Result<(), Failure> {
    let identity = Identity::generate().map_err(anyhow::Error::from)?;
    let file = args.file.display();
    identity.save(&args.file).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            anyhow!("no key written: {file}: it is there already, and stays as it is")
        }
        _ => anyhow!("no key written: {error}"),
    })?;
    Ok(output::line(format_args!("{}", identity.public()))?)
}
