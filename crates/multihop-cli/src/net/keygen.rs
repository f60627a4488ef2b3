//! `multihop keygen`.

use multihop_net::Identity;

use super::KeygenArgs;
use crate::{Failure, output};

/// Makes a key pair: writes the private half, prints the public one.
pub(crate) fn keygen(args: &KeygenArgs) -> Result<(), Failure> {
    let identity = Identity::generate().map_err(anyhow::Error::from)?;
    identity.save(&args.file).map_err(|error| anyhow::anyhow!("no key written: {error}"))?;
    Ok(output::line(format_args!("{}", identity.public()))?)
}
