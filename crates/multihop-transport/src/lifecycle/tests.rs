use super::*;

const CONFIG: Config = Config {
    syn_wait: Duration::from_secs(1),
    syn_wait_max: Some(Duration::from_secs(5)),
    syn_retries: Some(3),
    keepalive: Some(Duration::from_secs(20)),
    user_timeout: Some(Duration::from_secs(60)),
    linger: Duration::from_secs(120),
};

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn established() -> Lifecycle {
    let mut life = Lifecycle::new(CONFIG);
    life.connect();
    assert_eq!(life.poll_syn(at(0)), Some(Syn { attempt: 0, answers: None }));
    assert_eq!(life.establish(at(1), Some(0)), Some(Duration::from_secs(1)));
    life
}

#[test]
fn a_syn_is_retransmitted_after_doubling_times_until_the_limit() {
    let mut life = Lifecycle::new(CONFIG);
    life.connect();
    for (attempt, second) in [0_u64, 1, 3, 7].into_iter().enumerate() {
        let attempt = u8::try_from(attempt).unwrap();
        assert_eq!(life.handle_timeout(at(second)), None);
        assert_eq!(life.poll_syn(at(second)), Some(Syn { attempt, answers: None }));
        assert_eq!(life.poll_syn(at(second)), None);
    }
    // Doubling would make the fourth wait 8 s; the limit makes it 5 s.
    assert_eq!(life.poll_timeout(), Some(at(12)));
    assert_eq!(life.handle_timeout(at(12)), Some(Ending::TimedOut));
}

#[test]
fn only_the_answer_to_the_newest_attempt_is_a_round_trip() {
    let mut life = Lifecycle::new(CONFIG);
    life.connect();
    let _ = life.poll_syn(at(0));
    life.repeat_syn();
    assert_eq!(life.poll_syn(at(2)), Some(Syn { attempt: 1, answers: None }));
    assert_eq!(life.clone().establish(at(5), Some(0)), None);
    assert_eq!(life.clone().establish(at(5), None), None);
    assert_eq!(life.establish(at(5), Some(1)), Some(Duration::from_secs(3)));
}

#[test]
fn a_listener_answers_each_attempt_of_the_peer() {
    let mut life = Lifecycle::new(CONFIG);
    life.listen();
    life.on_syn(0);
    assert_eq!(life.state(), State::SynReceived);
    assert_eq!(life.poll_syn(at(0)), Some(Syn { attempt: 0, answers: Some(0) }));
    life.on_syn(1);
    assert_eq!(life.poll_syn(at(1)), Some(Syn { attempt: 1, answers: Some(1) }));
    assert!(life.is_passive() && life.is_known_to_peer());
}

#[test]
fn silence_causes_keepalives_and_every_segment_postpones_them() {
    let mut life = established();
    assert_eq!(life.poll_timeout(), Some(at(21)));
    life.on_segment(at(15));
    for second in [35, 55] {
        assert_eq!(life.poll_timeout(), Some(at(second)));
        assert_eq!(life.handle_timeout(at(second)), None);
        assert!(life.take_keepalive());
        assert!(!life.take_keepalive());
    }
}

#[test]
fn waiting_without_an_answer_ends_the_connection() {
    let mut life = Lifecycle::new(Config { keepalive: None, ..CONFIG });
    life.connect();
    let _ = life.poll_syn(at(0));
    let _ = life.establish(at(0), Some(0));
    life.set_waiting(at(0), true);
    life.on_answer(at(10));
    life.set_waiting(at(30), true);
    assert_eq!(life.poll_timeout(), Some(at(70)));
    assert_eq!(life.clone().handle_timeout(at(70)), Some(Ending::TimedOut));
    life.set_waiting(at(60), false);
    assert_eq!(life.poll_timeout(), None);
}

#[test]
fn states_follow_what_both_sides_have_finished() {
    for (is_closing, is_fin_acked, has_peer_finished, state) in [
        (false, false, false, State::Established),
        (false, false, true, State::PeerClosed),
        (true, false, false, State::FinSent),
        (true, false, true, State::LastAck),
        (true, true, false, State::HalfClosed),
        (true, true, true, State::Linger),
    ] {
        let mut life = established();
        if is_closing {
            assert_eq!(life.shutdown(true), Shutdown::Closing);
            assert_eq!(life.shutdown(true), Shutdown::NoEffect);
        }
        let lingers = life.set_finished(is_fin_acked, has_peer_finished);
        assert_eq!((life.state(), lingers), (state, state == State::Linger));
    }
}

#[test]
fn a_lingering_connection_ends_by_itself_and_is_not_revived() {
    let mut life = established();
    let _ = life.shutdown(false);
    assert!(life.set_finished(true, true));
    life.start_linger(at(9));
    assert!(!life.set_finished(false, false));
    life.on_segment(at(50));
    assert_eq!((life.state(), life.poll_timeout()), (State::Linger, Some(at(129))));
    assert_eq!(life.handle_timeout(at(129)), Some(Ending::Closed));
}

#[test]
fn what_is_not_open_yet_closes_at_once_unless_data_waits() {
    for begin in [Lifecycle::connect, Lifecycle::listen] {
        let mut life = Lifecycle::new(CONFIG);
        assert_eq!(life.shutdown(false), Shutdown::NoEffect);
        begin(&mut life);
        assert_eq!(life.clone().shutdown(false), Shutdown::Over);
        assert_eq!(life.shutdown(true), Shutdown::Closing);
        assert!(!life.is_known_to_peer());
    }
}

#[test]
fn an_ended_connection_has_no_deadline_and_no_signal() {
    let mut life = established();
    life.set_waiting(at(2), true);
    let _ = life.handle_timeout(at(21));
    life.end();
    assert_eq!((life.state(), life.poll_timeout(), life.poll_syn(at(22))), (State::Closed, None, None));
    assert!(!life.take_keepalive());
}
