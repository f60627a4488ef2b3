//! Implements `multihop extcap`, which offers the frames of emulations as interfaces of Wireshark.

use multihop_emulate::{EmulateError, emulations, read_frames};

use crate::network::ExtcapArgs;
use crate::{CommandError, output};

/// Answers one call of Wireshark.
pub(crate) fn extcap(args: &ExtcapArgs) -> Result<(), CommandError> {
    if args.extcap_interfaces {
        output::line(format_args!("extcap {{version={}}}", env!("CARGO_PKG_VERSION")))?;
        for (pid, scenario) in emulations() {
            // Braces would end the field of the extcap format.
            let scenario = scenario.replace(['{', '}', '\n'], " ");
            let name = format!("{PREFIX}{pid}");
            output::line(format_args!("interface {{value={name}}}{{display=Emulation of {scenario}}}"))?;
        }
    } else if args.extcap_dlts {
        output::line(format_args!(
            "dlt {{number=127}}{{name=IEEE802_11_RADIO}}{{display=802.11 with radiotap}}"
        ))?;
    } else if args.capture {
        let (Some(interface), Some(fifo)) = (&args.extcap_interface, &args.fifo) else {
            return Err(CommandError::Usage("--capture needs --extcap-interface and --fifo".to_owned()));
        };
        let pid = interface.strip_prefix(PREFIX).and_then(|pid| pid.parse().ok()).ok_or_else(|| {
            let message = format!("found interface {interface:?}, allowed: {PREFIX} and a process number");
            CommandError::Usage(message)
        })?;
        read_frames(pid, fifo).map_err(|error| match error {
            EmulateError::NotFound(message) => CommandError::Usage(message),
            error => CommandError::Other(error.into()),
        })?;
    }
    // The interface has no options.
    Ok(())
}

/// Prefix of interface names, followed by the process number of the emulation.
const PREFIX: &str = "multihop-";
