//! Once warm, an event costs no allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use multihop_scenario::{Scenario, Source};
use multihop_sim::{Outputs, run};

/// The only test of this program, so that nobody else is counted.
#[test]
fn a_warm_run_allocates_nothing() {
    let [short, long] = [100, 300].map(allocations_and_events);
    assert!(long.1 > short.1 + 1_000_000, "{} events more", long.1 - short.1);
    // What is left: reports of progress, and places of tables that a rare event is the first to need.
    assert!(long.0 < short.0 + 100, "{} allocations more", long.0 - short.0);
}

fn allocations_and_events(seconds: u32) -> (u64, u64) {
    let text = format!(
        "name = 'warm'
         duration = {seconds}.0
         [topology]
         kind = 'cross'
         [[flow]]
         transport = 'newreno'
         [[flow]]
         transport = 'tcp-2'"
    );
    let source = Source::Toml { text, name: "warm".to_owned() };
    let scenario = Scenario::load(&source, &[]).expect("a valid scenario");
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let result = run(&scenario, Outputs::default(), &mut |_| {}).expect("a run without outputs");
    (ALLOCATIONS.load(Ordering::Relaxed) - before, result.events)
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[expect(unsafe_code, reason = "an allocator is unsafe by nature")]
// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
