//! From arguments to the transport and the accepted peers.

use anyhow::Context;
use multihop_net::{
    Config, CustomTransport, Identity, Peers, SecretFile, Security, SharedKey, Token, TransportName,
};
use multihop_scenario::{Extension, Extensions, set_transport, transport_name};

use super::args::{KeyFiles, NetArgs};
use crate::CommandError;
use crate::terminal::note;

/// The parameters of TPA that a command sets unless the user does.
pub(super) type Usual<'a> = &'a [(&'a str, String)];

/// For the listening end: without a security mode it makes a token, which peers must know.
pub(super) fn listening(
    args: &NetArgs,
    usual: Usual<'_>,
    extensions: &Extensions,
) -> Result<(Config, Option<Token>), CommandError> {
    if let Some(security) = security(args, CommandRole::Listening)? {
        return Ok((config(args, usual, extensions, security)?, None));
    }
    let token = Token::generate().context("cannot make a token")?;
    Ok((config(args, usual, extensions, Security::Token(token.clone()))?, Some(token)))
}

/// For the end that connects.
pub(super) fn connecting(
    args: &NetArgs,
    usual: Usual<'_>,
    extensions: &Extensions,
) -> Result<Config, CommandError> {
    let security = security(args, CommandRole::Connecting)?.ok_or_else(|| {
        CommandError::Usage(
            "no security mode: pass --token, --key or --plain; a listening end prints its token".to_owned(),
        )
    })?;
    config(args, usual, extensions, security)
}

/// For both ends of a transfer by a code, which replaces the security mode.
pub(super) fn with_code(
    args: &NetArgs,
    usual: Usual<'_>,
    extensions: &Extensions,
) -> Result<Config, CommandError> {
    config(args, usual, extensions, Security::Plain)
}

/// Where a command has found its security mode.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    /// In its arguments.
    Given,
    /// In the environment: a token.
    Inherited,
    /// Nowhere.
    Missing,
}

/// Where the security mode comes from.
pub(super) fn mode(args: &NetArgs) -> Mode {
    if args.plain || args.key.is_some() || args.token.is_some() {
        Mode::Given
    } else if token(args).is_some() {
        Mode::Inherited
    } else {
        Mode::Missing
    }
}

fn token(args: &NetArgs) -> Option<String> {
    args.token.clone().or_else(|| std::env::var("MULTIHOP_TOKEN").ok())
}

fn config(
    args: &NetArgs,
    usual: Usual<'_>,
    extensions: &Extensions,
    security: Security,
) -> Result<Config, CommandError> {
    let mut config = Config::new(security);
    config.silent = args.silent;
    if let Some(path) = &args.shared_key {
        let key = SharedKey::load(path)
            .context("cannot read the shared key (multihop keygen --shared creates one)")?;
        config.shared_key = Some(key);
    }
    // Parameters without a name are those of TPA.
    config.or_tpa = args.transport.is_none() && args.set.is_empty();
    let name = args.transport.as_deref().or(config.or_tpa.then_some(transport_name::MESH));
    let kind = name.map(|name| ("kind".to_owned(), name.to_owned()));
    let parameters: Vec<_> = kind.into_iter().chain(args.set.iter().cloned()).collect();
    set(&mut config, usual, &parameters, extensions)?;
    Ok(config)
}

/// Which end of a connection a command is.
#[derive(Clone, Copy)]
enum CommandRole {
    Connecting,
    Listening,
}

fn security(args: &NetArgs, end: CommandRole) -> Result<Option<Security>, CommandError> {
    if args.plain {
        note(format_args!("--plain: no protection: anybody on the path can read and modify the traffic"));
        return Ok(Some(Security::Plain));
    }
    if let Some(key) = &args.key {
        let identity =
            Identity::load(key).context("cannot read the private key (multihop keygen creates one)")?;
        return Ok(Some(Security::Keys { identity, peers: peers(args, end)? }));
    }
    let Some(token) = token(args) else { return Ok(None) };
    match token.parse() {
        Ok(token) => Ok(Some(Security::Token(token))),
        Err(problem) => Err(CommandError::Usage(format!("invalid token: {problem}"))),
    }
}

fn peers(args: &NetArgs, end: CommandRole) -> Result<Peers, CommandError> {
    if let Some(key) = &args.peer {
        let key = key
            .parse()
            .map_err(|problem| CommandError::Usage(format!("--peer: invalid public key: {problem}")))?;
        return Ok(Peers::Exactly(key));
    }
    let NetArgs { known_peers, authorized_keys, .. } = args;
    let files = KeyFiles { known_peers: known_peers.clone(), authorized_keys: authorized_keys.clone() };
    match (end, known_peers, authorized_keys) {
        (CommandRole::Listening, Some(_), _) => Err(CommandError::Usage(
            "--known-peers is for the end that connects; pass --authorized-keys to listen".to_owned(),
        )),
        (CommandRole::Connecting, _, Some(_)) => Err(CommandError::Usage(
            "--authorized-keys is for the end that listens; pass --known-peers to connect".to_owned(),
        )),
        (CommandRole::Connecting, ..) => {
            let known = files.known()?.0;
            Ok(Peers::Known(if args.strict { known.strict() } else { known }))
        }
        (CommandRole::Listening, ..) if args.strict => {
            Err(CommandError::Usage("--strict is for the end that connects".to_owned()))
        }
        (CommandRole::Listening, ..) => {
            let (keys, path) = files.authorized()?;
            if keys.is_empty() {
                note(format_args!(
                    "--key: {} has no key, so every connection is refused: pass --peer KEY, or run multihop keys add authorized KEY",
                    path.display()
                ));
            }
            Ok(Peers::Authorized(keys))
        }
    }
}

/// Chooses the transport and sets its parameters, with the names, bounds and messages of scenario files.
fn set(
    config: &mut Config,
    usual: Usual<'_>,
    parameters: &[(String, String)],
    extensions: &Extensions,
) -> Result<(), CommandError> {
    // A profile has no keepalive, which NAT on real networks needs.
    let keepalive =
        config.transport.lifecycle.keepalive.map(|time| ("keepalive", time.as_secs_f64().to_string()));
    let usual = keepalive.into_iter().chain(usual.iter().cloned());
    let usual: Vec<_> = usual.map(|(key, value)| (key.to_owned(), value)).collect();
    let custom = set_transport(&mut config.transport, &usual, parameters, extensions)
        .map_err(|problems| CommandError::Usage(problems.to_string()))?;
    config.custom = custom.map(on_real_sockets).transpose()?;
    Ok(())
}

/// A user-defined transport with the name by which two ends recognise it.
fn on_real_sockets(custom: multihop_scenario::CustomTransport) -> Result<CustomTransport, CommandError> {
    let Extension { name, version, .. } = custom.extension;
    let name = format!("{name}/{version}");
    let problem = || {
        format!(
            "transport {name}: found a name of {} bytes, allowed: at most {}",
            name.len(),
            TransportName::MAX
        )
    };
    let name = TransportName::new(&name).ok_or_else(|| CommandError::Usage(problem()))?;
    Ok(CustomTransport { name, config: custom.config })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(parameters: &[(&str, &str)]) -> Result<Config, CommandError> {
        let mut config = Config::new(Security::Plain);
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        set(&mut config, &[], &parameters.iter().map(owned).collect::<Vec<_>>(), &Extensions::default())?;
        Ok(config)
    }

    #[test]
    fn what_is_not_set_is_as_without_setting_anything() {
        let usual = Config::new(Security::Plain).transport;
        assert_eq!(with(&[]).ok().map(|config| config.transport), Some(usual.clone()));
        let mut other = with(&[("cwnd_max", "12")]).ok().map(|config| config.transport).unwrap();
        assert_eq!(std::mem::replace(&mut other.cwnd_max, usual.cwnd_max), 12);
        assert_eq!(other, usual);
    }

    #[test]
    fn what_cannot_be_set_is_said_in_the_words_of_scenarios() {
        let said = |key, value| match with(&[(key, value)]) {
            Err(CommandError::Usage(text)) => text,
            _ => panic!("{key}"),
        };
        let text = said("cwnd_max", "13");
        assert_eq!(text, "override cwnd_max=13: cwnd_max: found 13, allowed: a whole number from 1 to 12");
        let text = said("cwndmax", "3");
        assert!(text.ends_with("is not a key here, did you mean \"cwnd_max\"?"), "{text}");
        assert_eq!(
            said("kind", "udp"),
            "override kind=udp: kind: found \"udp\", allowed: the kinds of TPA and TCP, mesh"
        );
        let text = said("kind", "tpa-zero");
        assert!(text.starts_with("override kind=tpa-zero: kind: found \"tpa-zero\", allowed: "), "{text}");
    }
}
