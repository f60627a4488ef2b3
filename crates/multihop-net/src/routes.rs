//! Events of the system about changes of this host's routes.

use std::future;
use std::time::Duration;

use multihop_hub::RouteChange;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::RouteNews;
#[cfg(target_os = "linux")]
pub(crate) use linux::RouteNews;

/// Waits for the next changes of routes. Without a source of such events it never completes.
pub(crate) async fn next_changes(news: &mut Option<RouteNews>) -> Vec<RouteChange> {
    match news {
        Some(open) => open.next().await,
        None => future::pending().await,
    }
}

/// Time for which route changes accumulate after a batch that took `lookups` route lookups. It bounds the share of
/// processor time that thousands of changes take; one lookup takes some microseconds.
fn pause(lookups: usize) -> Duration {
    let lookups = u32::try_from(lookups).unwrap_or(u32::MAX);
    MIN_PAUSE.max(Duration::from_millis(1).saturating_mul(lookups))
}

const MIN_PAUSE: Duration = Duration::from_millis(20);

#[cfg(target_os = "linux")]
mod linux {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use multihop_linux::netlink::{News, route_change};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use tokio::time;

    use super::pause;
    use multihop_hub::RouteChange;

    /// The changes of the routes of one network namespace.
    #[derive(Debug)]
    pub(crate) struct RouteNews {
        news: AsyncFd<News>,
        /// Time until which changes gather before they are reported.
        resume: Option<time::Instant>,
        _count: Count,
    }

    impl RouteNews {
        /// Begins to watch the routes of this thread's network namespace. `None` if the system refuses, or this process
        /// has enough of them.
        pub(crate) fn open() -> Option<Self> {
            let count = Count::begin()?;
            let news = News::of_routes().ok()?;
            #[expect(
                deprecated,
                reason = "the socket keeps its descriptor for its whole life, and the successor of this function is unsafe"
            )]
            let news = AsyncFd::with_interest(news, Interest::READABLE).ok()?;
            Some(Self { news, resume: None, _count: count })
        }

        /// Waits until something changes.
        pub(super) async fn next(&mut self) -> Vec<RouteChange> {
            loop {
                if let Some(at) = self.resume {
                    time::sleep_until(at).await;
                    self.resume = None;
                }
                let Ok(mut ready) = self.news.readable().await else { return std::future::pending().await };
                let mut changes = Vec::new();
                let complete = self.news.get_ref().take(|message| {
                    if let Some(change) = route_change(message).map(of).filter(|one| !changes.contains(one)) {
                        changes.push(change);
                    }
                });
                ready.clear_ready();
                if !complete.unwrap_or(false) || changes.len() > MAX_CHANGES {
                    changes = any();
                }
                if !changes.is_empty() {
                    return changes;
                }
                self.rest(0);
            }
        }

        /// Waits before the next report, so that changes gather; longer after changes that took this many lookups.
        pub(crate) fn rest(&mut self, lookups: usize) {
            self.resume = Some(time::Instant::now() + pause(lookups));
        }
    }

    fn of(change: multihop_linux::netlink::RouteChange) -> RouteChange {
        RouteChange { network: change.destination, is_there: change.is_there }
    }

    /// The report that any route may have changed.
    fn any() -> Vec<RouteChange> {
        let all: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        all.map(|address| RouteChange { network: (address, 0), is_there: true }).to_vec()
    }

    /// Number of descriptors that the watching of routes uses in this process, which is limited so that
    /// programs with many sockets do not run out of descriptors.
    #[derive(Debug)]
    struct Count;

    impl Count {
        fn begin() -> Option<Self> {
            let more = |n: usize| (n < MAX_OPEN).then_some(n + 1);
            OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self)
        }
    }

    impl Drop for Count {
        fn drop(&mut self) {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }

    static OPEN: AtomicUsize = AtomicUsize::new(0);
    const MAX_OPEN: usize = 64;
    /// Maximum number of changes in one report, because each change is compared with each peer.
    const MAX_CHANGES: usize = 64;

    #[cfg(test)]
    mod tests {
        use multihop_linux::netns::Namespace;

        use super::*;

        #[test]
        fn changes_of_routes_are_told_without_rights_and_together() {
            let made = Namespace::new().and_then(|made| made.ip("link set lo up").map(|()| made));
            let Ok(host) = made else {
                println!("skipped: network namespaces need root and the command ip");
                return;
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let changes = host.run(|| {
                runtime.block_on(async {
                    let mut news = RouteNews::open().unwrap();
                    let mut seen = Vec::new();
                    for words in ["route add 10.9.0.0/16 dev lo", "route del 10.9.0.0/16"] {
                        host.ip(words).unwrap();
                        seen.extend(news.next().await);
                        news.rest(0);
                    }
                    // More changes than the kernel's queue keeps.
                    let many: String = (0..2000)
                        .map(|n| format!("route add 10.8.{}.{}/32 dev lo\n", n / 250, n % 250))
                        .collect();
                    let folder = tempfile::tempdir().unwrap();
                    let file = folder.path().join("routes");
                    std::fs::write(&file, many).unwrap();
                    host.ip(&format!("-batch {}", file.display())).unwrap();
                    let all = news.next().await;
                    (seen, all)
                })
            });
            let (seen, all) = changes.unwrap();
            let change = |is_there| RouteChange { network: ([10, 9, 0, 0].into(), 16), is_there };
            assert_eq!(seen, [change(true), change(false)]);
            assert_eq!(all, any());
        }

        #[test]
        fn a_process_has_only_some() {
            let counts: Vec<_> = (0..MAX_OPEN * 2).map_while(|_| Count::begin()).collect();
            assert!(counts.len() <= MAX_OPEN && RouteNews::open().is_none());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::convert::Infallible;

    use multihop_hub::RouteChange;

    /// Reports of route changes, which only Linux has.
    #[derive(Debug)]
    pub(crate) struct RouteNews(Infallible);

    impl RouteNews {
        /// Always returns `None`: only Linux reports route changes.
        pub(crate) fn open() -> Option<Self> {
            None
        }

        #[expect(clippy::unused_async, reason = "as on Linux")]
        pub(super) async fn next(&mut self) -> Vec<RouteChange> {
            let _ = super::pause(0);
            match self.0 {}
        }

        pub(crate) fn rest(&mut self, _: usize) {
            match self.0 {}
        }
    }
}
