//! Handling of missing responses: retries, and the retry limits.

use multihop_core::Instant;

use super::chosen::by_rules;
use super::{Announced, Done, Mac, MacConfig, Phase, is_announced};

impl Mac {
    /// Whether only the end of the current reception decides if the response is overdue.
    #[inline]
    pub(super) fn response_may_be_arriving(&self, config: &MacConfig) -> bool {
        self.carrier_busy
            && matches!(self.phase, Phase::Rts | Phase::Data)
            && by_rules!(config.rules, waits_for_reception())
    }

    /// Ends the wait for a response, or the transmission of a broadcast.
    pub(super) fn give_up_waiting(&mut self, now: Instant, config: &MacConfig) {
        self.stop_waiting();
        match self.phase {
            Phase::Rts => self.rts_failed(config),
            Phase::Data => self.data_failed(now, config),
            Phase::Broadcast => {
                self.finish(true, config);
                self.draw_backoff(config);
            }
            Phase::Cts => self.own.reply = None,
            Phase::Idle => {}
        }
        self.go_on(now, config);
    }

    pub(super) fn stop_waiting(&mut self) {
        self.response_due = Instant::FAR_FUTURE;
    }

    /// Finishes the packet in service.
    pub(super) fn finish(&mut self, delivered: bool, config: &MacConfig) {
        let service = self.own.front.service.take().expect("only a packet in service can be finished");
        self.serves = false;
        self.own.done =
            Some(Done { out: service.out, delivered, began: service.began, retries: service.retries });
        self.reset_contention_window(config);
    }

    fn rts_failed(&mut self, config: &MacConfig) {
        self.own.counters.rts_failures += 1;
        self.own.front.short_count += 1;
        if config.params.short_retry.is_some_and(|limit| self.own.front.short_count >= limit) {
            self.own.front.short_count = 0;
            self.drop_packet(config);
        } else {
            self.retry(config);
        }
    }

    fn data_failed(&mut self, now: Instant, config: &MacConfig) {
        if self.batch().is_some() {
            self.conclude(now, None, config);
            self.draw_backoff(config);
            return;
        }
        self.own.counters.data_failures += 1;
        self.report_rate(now, false, config);
        let service = self.own.front.service.as_ref().expect("data was sent for the packet in service");
        let (count, limit) = match service.announced {
            Announced::Never | Announced::BySelf => {
                (&mut self.own.front.short_count, config.params.short_retry)
            }
            Announced::NotYet | Announced::Yes => (&mut self.own.front.long_count, config.params.long_retry),
        };
        *count += 1;
        if limit.is_some_and(|limit| *count >= limit) {
            *count = 0;
            self.drop_packet(config);
        } else {
            self.retry(config);
            self.choose_rate(now, config);
        }
    }

    fn drop_packet(&mut self, config: &MacConfig) {
        if self.batch().is_some() {
            self.give_up_batch(config);
            return;
        }
        self.own.counters.retry_drops += 1;
        self.own.counters.last_failures += 1;
        self.finish(false, config);
        by_rules!(config.rules, end_dropped(self, config));
    }

    fn retry(&mut self, config: &MacConfig) {
        let phase = self.phase;
        let service = self.own.front.service.as_mut().expect("a frame of the packet in service failed");
        service.retries += 1;
        if phase == Phase::Rts {
            service.rts_retry = true;
        } else {
            service.data_retry = true;
        }
        // A packet that followed another one in a transmission opportunity had no RTS.
        let followed = config.is_edca() && is_announced(config.airtime.data_bytes(&service.out), config);
        if service.announced == Announced::Yes || followed {
            service.announced = Announced::NotYet;
        } else if service.announced == Announced::BySelf {
            service.announced = Announced::Never;
        }
        self.double_contention_window(config);
        self.draw_backoff(config);
    }
}

#[cfg(test)]
mod tests;
