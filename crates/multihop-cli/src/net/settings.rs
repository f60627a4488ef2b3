//! Conversion of arguments into the transport and the accepted peers.

use anyhow::Context;
use multihop_net::{
    Config, Identity, Peers, SecretFile, Security, SharedKey, Token, Transport, TransportName, tpa,
};
use multihop_scenario::{Extension, Extensions, set_transport, transport_name};

use super::args::{KeyFiles, NetArgs};
use crate::CommandError;
use crate::terminal::note;

/// The parameters of TPA that a command sets unless the user overrides them.
pub(super) type Usual<'a> = &'a [(&'a str, String)];

/// Configuration of the listening end. Without a security mode it generates a token, which peers must present.
pub(super) fn listening(
    args: &NetArgs,
    usual: Usual<'_>,
    extensions: &Extensions,
) -> Result<(Config, Option<Token>), CommandError> {
    if !args.local.is_empty() {
        let text =
            "--local is for the end that connects; pass --listen ADDRESS to listen on one address".to_owned();
        return Err(CommandError::Usage(text));
    }
    if let Some(security) = security(args, CommandRole::Listening)? {
        return Ok((config(args, usual, extensions, security)?, None));
    }
    let token = Token::generate().context("cannot make a token")?;
    Ok((config(args, usual, extensions, Security::Token(token.clone()))?, Some(token)))
}

/// Configuration of the end that connects.
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

/// Configuration of both ends of a transfer by a code, which replaces the security mode.
pub(super) fn with_code(
    args: &NetArgs,
    usual: Usual<'_>,
    extensions: &Extensions,
) -> Result<Config, CommandError> {
    config(args, usual, extensions, Security::Plain)
}

/// Source of a command's security mode.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    /// The secret is in the arguments of the command.
    Given,
    /// A token is in the environment.
    Inherited,
    /// No protection and no secret was chosen.
    Missing,
}

/// Determines the source of the security mode.
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
    config.local.clone_from(&args.local);
    if let Some(path) = &args.shared_key {
        let key = SharedKey::load(path)
            .context("cannot read the shared key (multihop keygen --shared creates one)")?;
        config.shared_key = Some(key);
    }
    // Parameters without a transport name apply to TPA.
    let is_usual = args.transport.is_none() && args.set.is_empty();
    let name = args.transport.as_deref().or(is_usual.then_some(transport_name::MESH));
    let kind = name.map(|name| ("kind".to_owned(), name.to_owned()));
    let parameters: Vec<_> = kind.into_iter().chain(args.set.iter().cloned()).collect();
    let tpa = set(&mut config, usual, &parameters, extensions)?;
    if args.local.len() > 1 && config.transport.name == Transport::tpa(tpa.clone()).name {
        let text = "--local: found 2 addresses, allowed with TPA: 1; two paths need the transport mesh";
        return Err(CommandError::Usage(text.to_owned()));
    }
    config.or_tpa = is_usual.then_some(tpa);
    Ok(config)
}

/// Role of a command in a connection.
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

/// The peers of a listening end with keys.
pub(super) fn listening_peers(args: &NetArgs) -> Result<Peers, CommandError> {
    peers(args, CommandRole::Listening)
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

/// Chooses the transport and sets its parameters, with the names, bounds and messages of scenario files. Returns the parameters
/// of TPA.
fn set(
    config: &mut Config,
    usual: Usual<'_>,
    parameters: &[(String, String)],
    extensions: &Extensions,
) -> Result<tpa::Config, CommandError> {
    let lifecycle = config.lifecycle;
    let mut tpa = tpa::Config { lifecycle, ..tpa::Config::net() };
    // A profile has no keepalive, which NAT on real networks needs.
    let keepalive = lifecycle.keepalive.map(|time| ("keepalive", time.as_secs_f64().to_string()));
    let usual = keepalive.into_iter().chain(usual.iter().cloned());
    let usual: Vec<_> = usual.map(|(key, value)| (key.to_owned(), value)).collect();
    let custom = set_transport(&mut tpa, &usual, parameters, extensions)
        .map_err(|problems| CommandError::Usage(problems.to_string()))?;
    config.transport = match custom {
        Some(custom) => on_real_sockets(custom)?,
        None => Transport::tpa(tpa.clone()),
    };
    config.lifecycle = tpa.lifecycle();
    Ok(tpa)
}

/// A transport other than TPA with the name by which two ends recognise it.
fn on_real_sockets(custom: multihop_scenario::CustomTransport) -> Result<Transport, CommandError> {
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
    Ok(Transport { name, config: custom.config })
}

#[cfg(test)]
mod tests {
    use multihop_core::Duration;

    use super::*;

    fn with(parameters: &[(&str, &str)]) -> Result<(Config, tpa::Config), CommandError> {
        let mut config = Config::new(Security::Plain);
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let parameters: Vec<_> = parameters.iter().map(owned).collect();
        let tpa = set(&mut config, &[], &parameters, &Extensions::default())?;
        Ok((config, tpa))
    }

    #[test]
    fn what_is_not_set_is_as_without_setting_anything() {
        let (config, usual) = with(&[]).ok().unwrap();
        assert_eq!(config.lifecycle, Config::new(Security::Plain).lifecycle);
        assert_eq!(usual, tpa::Config { lifecycle: usual.lifecycle, ..tpa::Config::net() });
        let (_, other) = with(&[("cwnd_max", "12")]).ok().unwrap();
        assert_eq!(other, tpa::Config { cwnd_max: 12, ..usual });
        let (other, _) = with(&[("rto_max", "3"), ("keepalive", "5")]).ok().unwrap();
        let keepalive = Some(Duration::from_secs(5));
        let mut expected = config.lifecycle;
        expected.keepalive = keepalive;
        assert_eq!(other.lifecycle, expected);
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
