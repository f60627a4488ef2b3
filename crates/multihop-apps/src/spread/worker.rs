//! A thread for the work on files, so that the task of a node never waits for the disk.

use std::io;
use std::thread;

use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};

use super::disk::{Disk, Job, Outcome};

/// The thread, and what it has done.
pub(super) struct Worker {
    jobs: Sender<Job>,
    outcomes: UnboundedReceiver<Outcome>,
    /// Parts of the thread before it starts.
    waiting: Option<Waiting>,
}

type Waiting = (Disk, Receiver<Job>, UnboundedSender<Outcome>);

impl Worker {
    /// The thread starts with the first job. A program has given up its rights by then, and the thread has no more than
    /// those of the thread that starts it.
    pub(super) fn new(disk: Disk) -> Self {
        let (jobs, queue) = channel(MAX_JOBS);
        let (sender, outcomes) = unbounded_channel();
        Self { jobs, outcomes, waiting: Some((disk, queue, sender)) }
    }

    /// Submits a job. Waits while too many are waiting, because each may hold a block.
    pub(super) async fn submit(&mut self, job: Job) -> io::Result<()> {
        if let Some(waiting) = self.waiting.take() {
            thread::Builder::new().name("spread files".to_owned()).spawn(move || run(waiting))?;
        }
        self.jobs.send(job).await.map_err(|_| ended())
    }

    /// Waits for the next outcome; they come in the order of the jobs.
    pub(super) async fn outcome(&mut self) -> io::Result<Outcome> {
        self.outcomes.recv().await.ok_or_else(ended)
    }

    /// An outcome that is there already.
    pub(super) fn try_outcome(&mut self) -> Option<Outcome> {
        self.outcomes.try_recv().ok()
    }
}

/// Does jobs until no more can come, or nobody needs their outcomes.
fn run((mut disk, mut jobs, outcomes): Waiting) {
    while let Some(job) = jobs.blocking_recv() {
        let outcome = disk.work(job);
        if outcome.is_some_and(|outcome| outcomes.send(outcome).is_err()) {
            return;
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread for files has ended")
}

/// Largest number of jobs that wait: 5 MB of blocks.
const MAX_JOBS: usize = 16;
