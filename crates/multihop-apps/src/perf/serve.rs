//! The listening end of measurements, which serves one measurement at a time.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use multihop_net::{Listener, Stream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::flow::answer;
use super::message::{self, PerfRequest};
use super::turns::Turns;
use super::{EndTotals, nonsense};

/// A caller that has sent its request.
struct Caller {
    from: SocketAddr,
    turns: Turns,
    request: PerfRequest,
}

/// Serves one measurement at a time, with all of its flows together; `done` receives the result of each flow.
pub async fn serve(
    listener: &Listener,
    mut done: impl FnMut(SocketAddr, io::Result<EndTotals>),
) -> io::Result<()> {
    let (mut callers, mut flows) = (JoinSet::new(), JoinSet::new());
    let mut waiting: VecDeque<Caller> = VecDeque::new();
    let mut group = None;
    loop {
        tokio::select! {
            stream = listener.accept() => {
                let stream = stream?;
                let from = stream.peer_addr();
                callers.spawn(async move { (from, request(stream).await) });
            }
            Some(caller) = callers.join_next() => match caller {
                Ok((from, Ok((turns, request)))) => waiting.push_back(Caller { from, turns, request }),
                Ok((from, Err(error))) => done(from, Err(error)),
                Err(_) => {}
            },
            Some(flow) = flows.join_next() => {
                if let Ok((from, result)) = flow {
                    done(from, result);
                }
            }
        }
        if flows.is_empty() {
            group = waiting.front().map(|caller| caller.request.group);
        }
        for _ in 0..waiting.len() {
            let Some(caller) = waiting.pop_front() else { break };
            if Some(caller.request.group) != group {
                waiting.push_back(caller);
                continue;
            }
            let Caller { from, turns, request } = caller;
            flows.spawn(async move { (from, answer(turns, request).await) });
        }
    }
}

/// Reads the request of a caller. A caller without a request delays no other one.
async fn request(stream: Stream) -> io::Result<(Turns, PerfRequest)> {
    let mut turns = Turns::new(stream);
    let Ok(body) = timeout(FIRST, turns.expect(message::REQUEST)).await else {
        let text = format!("no request within {} s", FIRST.as_secs());
        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
    };
    let request = PerfRequest::parse(&body?).ok_or_else(nonsense)?;
    Ok((turns, request))
}

/// Longest wait for the request of the peer.
const FIRST: Duration = Duration::from_secs(10);
