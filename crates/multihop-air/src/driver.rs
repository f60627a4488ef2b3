//! The loop that moves the medium on with the wall clock, and exchanges messages with the kernel.

use std::os::fd::AsFd;
use std::process::Child;

use multihop_core::{Duration, Instant};
use multihop_linux::netlink::{GenericMessage, GenericSocket};
use multihop_linux::wait::{self, Signals};
use multihop_sim::live::{Lateness, keeps_up};

use crate::hwsim;
use crate::medium::{Medium, Outgoing};
use crate::result::{AirResult, AirRun};
use crate::{AirError, Tried};

/// Medium, socket and clock of a run.
pub(crate) struct Driver<'a> {
    pub(crate) medium: Medium<'a>,
    socket: GenericSocket,
    end: Instant,
    began: std::time::Instant,
    /// Wall-clock time by which the virtual clock was set back.
    lost: Duration,
    counts: Counts,
}

/// Counters and latenesses of a run.
#[derive(Debug, Default)]
struct Counts {
    transmitted: u64,
    acknowledged: u64,
    retries: u64,
    received: u64,
    refused: u64,
    wakeups: Lateness,
    deliveries: Lateness,
}

/// Lateness that is caught up with; from more, virtual time slips.
const TOLERANCE: Duration = Duration::from_millis(1);
/// The longest wait: the command may have ended.
const LONGEST: Duration = Duration::from_millis(20);
/// Datagrams of the kernel that are read before the medium has its turn.
const TURN: usize = 64;

impl<'a> Driver<'a> {
    pub(crate) fn new(medium: Medium<'a>, socket: GenericSocket, end: Instant) -> Self {
        let (began, lost, counts) = (std::time::Instant::now(), Duration::ZERO, Counts::default());
        Self { medium, socket, end, began, lost, counts }
    }

    /// Runs until the end of the scenario, of the command, or until a signal. Returns the exit code of the command.
    pub(crate) fn run(
        &mut self,
        command: &mut Option<Child>,
        signals: &Signals,
    ) -> Result<Option<i32>, AirError> {
        wait::wake_on_time();
        loop {
            let now = self.wake();
            self.medium.advance(now);
            self.deliver()?;
            let status = command.as_mut().map(Child::try_wait);
            let ended = status.transpose().tried(|| "wait for the command".to_owned())?.flatten();
            if let Some(status) = ended {
                return Ok(status.code());
            }
            if now >= self.end || signals.noted().is_some() {
                return Ok(None);
            }
            self.wait()?;
        }
    }

    /// Updates the virtual time and returns it. An event that is too late sets the virtual clock back.
    fn wake(&mut self) -> Instant {
        let now = self.now();
        let Some(due) = self.medium.next_event().filter(|due| *due < now) else { return now.min(self.end) };
        let late = now - due;
        self.counts.wakeups.add(late);
        if late <= TOLERANCE {
            return now.min(self.end);
        }
        self.lost += late;
        // Events before an instant are handled, not those at it.
        (due + Duration::from_nanos(1)).max(self.medium.now()).min(self.end)
    }

    fn now(&self) -> Instant {
        Instant::ZERO + (Duration::from(self.began.elapsed()) - self.lost)
    }

    /// Hands frames and outcomes to the kernel.
    fn deliver(&mut self) -> Result<(), AirError> {
        while let Some(message) = self.medium.poll() {
            let (at, mut request) = match message {
                Outgoing::Received { at, radio, bytes, rate, dbm, mhz } => {
                    self.counts.received += 1;
                    let mut request = self.socket.request(hwsim::CMD_FRAME, 0);
                    hwsim::received(&mut request, radio, &bytes, rate, dbm, mhz);
                    (at, request)
                }
                Outgoing::Finished { at, outcome } => {
                    self.counts.acknowledged += u64::from(outcome.is_acknowledged);
                    self.counts.retries += outcome.retries();
                    let mut request = self.socket.request(hwsim::CMD_TX_INFO_FRAME, 0);
                    hwsim::finished(&mut request, &outcome);
                    (at, request)
                }
            };
            // While the message is sent, the kernel already handles the frame: that is the receiver's time, not the medium's.
            self.counts.deliveries.add(self.now().saturating_since(at));
            self.socket.send(&mut request).tried(|| "pass a frame to the kernel".to_owned())?;
        }
        Ok(())
    }

    /// Waits for the next event, and takes the frames that the kernel has transmitted meanwhile.
    fn wait(&mut self) -> Result<(), AirError> {
        let next = self.medium.next_event();
        let left = next.map_or(LONGEST, |at| at.saturating_since(self.now()).min(LONGEST));
        let ready = wait::readable(&[self.socket.as_fd()], Some(left.into()));
        if ready.tried(|| READ.to_owned())? == [false] {
            return Ok(());
        }
        let now = self.wake();
        self.medium.advance(now);
        for _ in 0..TURN {
            let Some(messages) = self.socket.receive().tried(|| READ.to_owned())? else { break };
            for message in messages {
                match message {
                    GenericMessage::Command(command, attributes) => {
                        let Some(report) = hwsim::parse(command, &attributes) else { continue };
                        self.counts.transmitted += u64::from(matches!(report, hwsim::Report::Frame(_)));
                        self.medium.handle(report);
                    }
                    // The receiver is on another channel, or its interface is down.
                    GenericMessage::Verdict(error) => self.counts.refused += u64::from(error != 0),
                }
            }
        }
        Ok(())
    }

    /// Ends the run.
    pub(crate) fn finish(
        self,
        exit_code: Option<i32>,
        late_limit: Option<Duration>,
    ) -> Result<AirRun, AirError> {
        let (wall, counts) = (self.began.elapsed().as_secs_f64(), self.counts);
        let late = [counts.wakeups.quantiles_ms(), counts.deliveries.quantiles_ms()];
        let [wakeups_late_ms, deliveries_late_ms] = late;
        let lost_share = if wall > 0.0 { self.lost.as_secs_f64() / wall } else { 0.0 };
        let air = AirResult {
            transmitted: counts.transmitted,
            received: counts.received,
            acknowledged: counts.acknowledged,
            retries: counts.retries,
            strays: self.medium.strays,
            refused: counts.refused,
            wakeups_late_ms,
            deliveries_late_ms,
            lost_share,
            valid: keeps_up(late_limit, late, lost_share),
            exit_code,
        };
        Ok(AirRun { run: self.medium.finish()?, air })
    }
}

const READ: &str = "read the kernel's frames";
