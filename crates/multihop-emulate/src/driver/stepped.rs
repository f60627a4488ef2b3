//! The loop in virtual time: the time advances only while all programs wait.

use std::os::fd::AsFd;

use multihop_core::{Duration, Instant, Interface, earliest};
use multihop_linux::wait;
use multihop_sim::live::EntryError;
use nix::sys::signal::Signal;

use super::requests::{ClientState, Served};
use super::{Driver, MARK_EVERY};
use crate::barrier::Barrier;
use crate::{EmulateError, Emulated, Tried};

/// Longest real time for which the driver waits for a client or for the start of a program before it looks for signals.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);
/// Real time for which programs finish an instant although the client has closed its input.
const UNHEARD: std::time::Duration = std::time::Duration::from_secs(1);
/// Virtual time for programs to end after SIGTERM.
const ENDING: Duration = Duration::from_secs(1);

impl Driver<'_> {
    /// Runs in virtual time until the end of the scenario, of the command, or until a signal.
    pub(super) fn run_in_steps(
        mut self,
        mut barrier: Barrier,
        is_followed: bool,
    ) -> Result<Emulated, EmulateError> {
        let (mut now, mut marked) = (Instant::ZERO, Instant::ZERO);
        self.greet();
        loop {
            if is_followed && now >= marked + MARK_EVERY {
                marked = now;
                self.live.tell_readers().tried(|| "write the recording".to_owned())?;
            }
            self.settle(&mut barrier, now)?;
            let is_over = self.programs.is_over() || self.live.has_failed() || self.has_signal();
            if now >= self.end || is_over {
                break;
            }
            match self.serve_client(now, Some(&mut barrier))? {
                Served::End => break,
                Served::Request => {}
                // A client that waits for nothing decides what happens next at this instant.
                Served::Nothing if self.client.as_ref().is_some_and(ClientState::is_idle) => self.rest()?,
                Served::Nothing => now = self.next_instant(&barrier, now),
            }
        }
        for group in self.programs.terminate() {
            barrier.note_signal(group, Signal::SIGTERM);
        }
        self.end = now + ENDING;
        while now < self.end && self.programs.are_running() && !self.has_signal() {
            now = self.next_instant(&barrier, now);
            self.settle(&mut barrier, now)?;
        }
        self.finish(None)
    }

    fn has_signal(&self) -> bool {
        self.signals.noted().is_some()
    }

    /// Waits until another thread rings the bell, at most [`PAUSE`].
    fn rest(&self) -> Result<(), EmulateError> {
        wait::readable(&[self.bell.as_fd()], Some(PAUSE)).tried(|| "wait for the client".to_owned())?;
        self.bell.clear();
        Ok(())
    }

    /// Lets everything happen that happens at this instant.
    fn settle(&mut self, barrier: &mut Barrier, now: Instant) -> Result<(), EmulateError> {
        self.live.advance(now);
        loop {
            self.update_programs(barrier, now)?;
            while let Some(exit) = self.live.poll_exit() {
                self.left += 1;
                barrier.receive(exit.node, &exit.bytes, now);
            }
            let begun = std::time::Instant::now();
            let (programs, signals, client) = (&mut self.programs, &self.signals, &self.client);
            let mut meanwhile = || {
                programs.capture();
                let is_long = begun.elapsed() > UNHEARD;
                signals.noted().is_some() || is_long && client.as_ref().is_some_and(ClientState::is_over)
            };
            barrier.settle(now, &mut meanwhile).tried(|| "exchange messages with a program".to_owned())?;
            if let Some(refusal) = barrier.refusal() {
                return Err(EmulateError::NotFound(refusal.to_owned()));
            }
            let has_sent = self.send_packets(barrier)?;
            self.programs.update(now, &self.sandbox);
            if !has_sent && !self.programs.are_starting() {
                return Ok(());
            }
        }
    }

    /// Starts and stops programs; the time waits for their start.
    fn update_programs(&mut self, barrier: &mut Barrier, now: Instant) -> Result<(), EmulateError> {
        self.programs.update(now, &self.sandbox);
        while self.programs.are_starting() && !self.has_signal() {
            self.rest()?;
            self.programs.update(now, &self.sandbox);
        }
        for (node, pid) in self.programs.take_started() {
            barrier.expect(node, pid);
        }
        for group in self.programs.take_stopped() {
            barrier.note_signal(group, Signal::SIGTERM);
        }
        Ok(())
    }

    /// Passes the packets of programs to the simulated network; returns whether there were any.
    fn send_packets(&mut self, barrier: &mut Barrier) -> Result<bool, EmulateError> {
        let mut has_sent = false;
        while let Some((node, packet)) = barrier.poll_packet() {
            has_sent = true;
            match self.live.enter(node, Interface(0), &packet) {
                Ok(()) => self.entered += 1,
                Err(EntryError::Packet(_)) => self.ignored += 1,
                Err(EntryError::Recording(error)) => {
                    return Err(error).tried(|| "write the recording".to_owned());
                }
            }
        }
        Ok(has_sent)
    }

    /// The instant of the next event.
    fn next_instant(&self, barrier: &Barrier, now: Instant) -> Instant {
        // Events before an instant are handled, not those at it.
        let network = self.live.next_event().map(|due| due + Duration::from_nanos(1));
        let programs = earliest(self.programs.next(), barrier.next());
        let client = self.client.as_ref().and_then(ClientState::next);
        let next = earliest(earliest(network, programs), client).unwrap_or(self.end);
        next.max(now + Duration::from_nanos(1)).min(self.end)
    }
}
