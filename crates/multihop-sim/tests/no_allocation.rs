//! After a warm-up, events cause no allocations.

use multihop_scenario::{Scenario, Source};
use multihop_sim::{Outputs, run};
use multihop_testkit::CountingAllocator;

/// This test is the only one of its program, so that no other allocations are counted.
#[test]
fn a_warm_run_allocates_nothing() {
    let [short, long] = [100, 300].map(allocations_and_events);
    assert!(long.1 > short.1 + 1_000_000, "{} events more", long.1 - short.1);
    // The remaining allocations are for progress reports, and for table entries that rare events create.
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
    let before = ALLOCATOR.count();
    let result =
        run(&scenario, Outputs::default(), &mut multihop_sim::unattended).expect("a run without outputs");
    (ALLOCATOR.count() - before, result.events)
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
