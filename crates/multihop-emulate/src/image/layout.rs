//! OCI image layouts: index, manifest and configuration of an image, checked by their digests.

use std::env::consts::ARCH;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::Config;

/// An image of a layout: where its layers are, and its configuration.
#[derive(Debug)]
pub(super) struct Layout {
    /// Digest of the manifest, without its algorithm.
    pub(super) digest: String,
    pub(super) layers: Vec<Blob>,
    pub(super) config: Config,
}

/// A file of the layout with its SHA-256 digest.
#[derive(Debug)]
pub(super) struct Blob {
    pub(super) path: PathBuf,
    pub(super) digest: String,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    architecture: String,
    os: String,
}

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct ImageFile {
    #[serde(default)]
    config: Option<Config>,
}

/// Reads the only image of a layout that is for this processor.
pub(super) fn read(folder: &Path) -> io::Result<Layout> {
    let index = limited(&folder.join("index.json"))?;
    let mut descriptor = only(parsed(&index, "index.json")?)?;
    // The image of several processors is an index of its own.
    if descriptor.media_type.ends_with("image.index.v1+json")
        || descriptor.media_type.ends_with("manifest.list.v2+json")
    {
        descriptor = only(json(folder, &descriptor)?)?;
    }
    let manifest: Manifest = json(folder, &descriptor)?;
    if manifest.layers.len() > MAX_LAYERS {
        return refuse(format!("found {} layers, allowed: at most {MAX_LAYERS}", manifest.layers.len()));
    }
    let layers = manifest.layers.iter().map(|layer| blob(folder, layer)).collect::<io::Result<_>>()?;
    let file: ImageFile = json(folder, &manifest.config)?;
    let digest = blob(folder, &descriptor)?.digest;
    Ok(Layout { digest, layers, config: file.config.unwrap_or_default() })
}

/// The manifest of an index that is for this processor.
fn only(index: Index) -> io::Result<Descriptor> {
    let mut found: Vec<_> = index.manifests.into_iter().filter(is_for_this_machine).collect();
    match (found.len(), found.pop()) {
        (1, Some(descriptor)) => Ok(descriptor),
        (count, _) => refuse(format!(
            "found {count} images for linux and {}, allowed: one image in a folder",
            architecture()
        )),
    }
}

fn is_for_this_machine(descriptor: &Descriptor) -> bool {
    let fits = |platform: &Platform| platform.os == "linux" && platform.architecture == architecture();
    descriptor.platform.as_ref().is_none_or(fits)
}

/// Name of this processor in OCI images.
fn architecture() -> &'static str {
    match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    }
}

fn json<T: DeserializeOwned>(folder: &Path, descriptor: &Descriptor) -> io::Result<T> {
    let Blob { path, digest } = blob(folder, descriptor)?;
    let bytes = limited(&path)?;
    check(&digest, &Sha256::digest(&bytes))?;
    parsed(&bytes, &digest)
}

fn parsed<T: DeserializeOwned>(bytes: &[u8], name: &str) -> io::Result<T> {
    serde_json::from_slice(bytes).map_err(|error| io::Error::other(format!("{name}: {error}")))
}

/// The file of a digest, which must be of SHA-256.
fn blob(folder: &Path, descriptor: &Descriptor) -> io::Result<Blob> {
    let found = &descriptor.digest;
    let digest = found.strip_prefix("sha256:").filter(|digits| {
        digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    });
    match digest {
        Some(digest) => {
            Ok(Blob { path: folder.join("blobs/sha256").join(digest), digest: digest.to_owned() })
        }
        None => refuse(format!("found the digest {found:?}, allowed: sha256 with 64 hexadecimal digits")),
    }
}

/// Compares the digest of a file with the one that its name promises.
pub(super) fn check(expected: &str, found: &[u8]) -> io::Result<()> {
    let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
    if found == expected {
        Ok(())
    } else {
        refuse(format!("found a damaged file: its SHA-256 digest is {found}, expected: {expected}"))
    }
}

fn limited(path: &Path) -> io::Result<Vec<u8>> {
    let name = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    File::open(path).map_err(name)?.take(MAX_TEXT + 1).read_to_end(&mut bytes).map_err(name)?;
    if bytes.len() as u64 > MAX_TEXT {
        return refuse(format!("{}: found more than {MAX_TEXT} bytes", path.display()));
    }
    Ok(bytes)
}

fn refuse<T>(message: String) -> io::Result<T> {
    Err(io::Error::other(message))
}

/// Largest number of layers of an image.
const MAX_LAYERS: usize = 256;
/// Largest index, manifest or configuration, bytes.
const MAX_TEXT: u64 = 4 << 20;
