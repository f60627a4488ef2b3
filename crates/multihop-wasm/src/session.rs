//! Session of the page: one run, and its answers as JSON.

use multihop_core::Instant;
use multihop_scenario::{Request, Scenario};
use multihop_sim::viewed::{Description, Nodes, ViewedRun};
use serde::Serialize;

/// Session of the page: one run that it moves on and shows.
pub(crate) struct Session {
    /// Run of the session; `None` after its end.
    run: Option<ViewedRun<'static>>,
    /// Records of the packets still in transit at the end.
    last: Vec<u32>,
}

impl Session {
    /// Begins the run that an input requests and describes its network, or returns an error message. The input is the
    /// request, a zero byte, and the bytes of the recording that have arrived if the run is a replay.
    pub(crate) fn new(input: &[u8]) -> Result<(Self, Vec<u8>), String> {
        let end = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
        let (request, recording) = input.split_at(end);
        let recording = recording.get(1..).filter(|recording| !recording.is_empty());
        let request: Request = serde_json::from_slice(request).map_err(|error| error.to_string())?;
        let (source, overrides) = (request.source(), &request.overrides);
        let load = if recording.is_none() { Scenario::load_with } else { Scenario::load_network };
        let scenario = load(&source, overrides, &multihop_routing_extra::extensions());
        let scenario = scenario.map_err(|problems| problems.to_string())?;
        // A module has one run; its memory ends with it.
        let scenario: &'static Scenario = Box::leak(Box::new(scenario));
        let nodes = Nodes::of(scenario).map_err(|error| error.to_string())?;
        let run = match recording {
            None => ViewedRun::new(scenario),
            Some(recording) => ViewedRun::replay(scenario, recording),
        };
        let run = run.map_err(|error| error.to_string())?;
        let description = to_json(&Description::of(scenario, &nodes, run.end()));
        Ok((Self { run: Some(run), last: Vec::new() }, description))
    }

    pub(crate) fn advance(&mut self, at: Instant) {
        if let Some(run) = &mut self.run {
            run.advance(at);
        }
    }

    /// Takes in further bytes of the recording that have arrived.
    pub(crate) fn feed(&mut self, recording: &[u8]) {
        if let Some(run) = &mut self.run {
            run.feed(recording);
        }
    }

    /// Virtual time up to which the run can be simulated.
    pub(crate) fn known(&self) -> Instant {
        self.run.as_ref().map_or(Instant::ZERO, ViewedRun::known)
    }

    /// End of the run, as far as it is known.
    pub(crate) fn end(&self) -> Instant {
        self.run.as_ref().map_or(Instant::ZERO, ViewedRun::end)
    }

    pub(crate) fn set_detailed(&mut self, detailed: bool) {
        if let Some(run) = &mut self.run {
            run.set_detailed(detailed);
        }
    }

    pub(crate) fn records(&mut self) -> &[u32] {
        match &mut self.run {
            Some(run) => run.records(),
            None => &self.last,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.last.clear();
        if let Some(run) = &mut self.run {
            run.clear();
        }
    }

    pub(crate) fn names(&mut self) -> Vec<u8> {
        self.run.as_mut().map(|run| to_json(&run.names())).unwrap_or_default()
    }

    pub(crate) fn fields(&mut self) -> Vec<u8> {
        self.run.as_mut().map(|run| to_json(&run.fields())).unwrap_or_default()
    }

    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let result = self.run.take().map(|run| run.finish(&mut self.last));
        result.map(|result| to_json(&result)).unwrap_or_default()
    }
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("every key is a string")
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use multihop_core::{Duration, Interface, NodeId};
    use multihop_scenario::{Extensions, Source};
    use multihop_sim::Outputs;
    use multihop_sim::live::{Live, Recording, identity};
    use serde_json::Value;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const TEXT: &str = "duration = 9.0\nwarmup = 1.0\nrouting.protocol = \"aodv\"\n\
                        [topology]\nkind = \"chain\"\nhops = 3\n";

    /// A recording of a run with packets from outside the simulation, and the result of the run.
    fn recorded() -> (Request, Vec<u8>, Value) {
        let source = Source::Toml { text: TEXT.to_owned(), name: "a.toml".to_owned() };
        let scenario = Scenario::load_network(&source, &[], &Extensions::default()).unwrap();
        let request = Request::new(&source, &[]);
        let bytes = Shared::default();
        let name = identity(&source, &[], &scenario).unwrap();
        let recording = Recording::new(Box::new(bytes.clone()), &name, &request).unwrap();
        let mut live = Live::new(&scenario, Outputs::default(), Some(recording)).unwrap();
        let mut packet = vec![0; 300];
        // IPv4 from node 0 to node 3: version, length, TTL, protocol, addresses.
        packet[..20].copy_from_slice(&[0x45, 0, 1, 44, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 4]);
        let checksum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        for n in 0..100 {
            live.advance(Instant::ZERO + Duration::from_millis(61 * n));
            live.enter(NodeId(0), Interface(0), &packet).unwrap();
            if n % 10 == 0 {
                live.tell_readers().unwrap();
            }
        }
        // The programs end before the scenario does.
        live.advance(Instant::ZERO + Duration::from_millis(7500));
        let result = serde_json::to_value(live.finish().unwrap().timeless()).unwrap();
        let bytes = bytes.0.lock().unwrap().clone();
        (request, bytes, result)
    }

    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum: u32 = words.sum();
        !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap()
    }

    fn input(request: &Request, recording: &[u8]) -> Vec<u8> {
        [to_json(request).as_slice(), b"\0", recording].concat()
    }

    #[test]
    fn a_recording_is_replayed_with_the_result_of_the_recorded_run() {
        let (request, recording, result) = recorded();
        // After the warm-up 83 packets enter, and each crosses three hops.
        assert_eq!(result["mac"]["frames"]["data"], 3 * 83);
        let (mut session, description) = Session::new(&input(&request, &recording)).unwrap();
        let description: Value = serde_json::from_slice(&description).unwrap();
        assert_eq!(description["duration"], 7.5, "the end of the recording");
        session.advance(Instant::from_nanos(3_333_333_333));
        assert_eq!(serde_json::from_slice::<Value>(&session.finish()).unwrap(), result);
    }

    #[test]
    fn a_recording_that_arrives_in_pieces_gives_the_same_result() {
        let (request, recording, result) = recorded();
        let (first, rest) = recording.split_at(recording.len() / 5 + 7);
        let (mut session, _) = Session::new(&input(&request, first)).unwrap();
        let known = session.known();
        assert!(known > Instant::ZERO && known < Instant::from_nanos(2_000_000_000), "{known:?}");
        session.advance(Instant::from_nanos(9_000_000_000));
        for piece in rest.chunks(1009) {
            session.feed(piece);
            session.advance(Instant::from_nanos(9_000_000_000));
        }
        assert_eq!(session.end(), Instant::from_nanos(7_500_000_000));
        assert_eq!(serde_json::from_slice::<Value>(&session.finish()).unwrap(), result);
    }

    #[test]
    fn the_page_simulates_every_routing_protocol_of_this_repository() {
        for protocol in ["babel", "batman", "hwmp", "olsrv2"] {
            let text = TEXT.replace("aodv", protocol) + "[[flow]]\ntransport = \"newreno\"\n";
            let source = Source::Toml { text, name: "a.toml".to_owned() };
            let request = serde_json::to_vec(&Request::new(&source, &[])).unwrap();
            let (mut session, _) = Session::new(&request).unwrap_or_else(|message| panic!("{message}"));
            session.advance(Instant::from_nanos(1_000_000_000));
            assert!(!session.records().is_empty(), "{protocol}");
        }
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        let (request, ..) = recorded();
        let refused = Session::new(&input(&request, b"something else\n")).err();
        assert_eq!(refused.as_deref(), Some("the recording is not a recording of multihop emulate"));
    }
}
