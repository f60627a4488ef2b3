/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Trains of mesh in integers: segments that leave together, so that radios that aggregate carry them from hop to hop in one
 * frame. docs/models/mesh.md#radios-that-aggregate has the argument. Constants and rules are those of
 * crates/multihop-transport/src/mesh/trains.rs and worth.rs, where a comment gives no reason for others. A test compiles this
 * file for the host.
 */
#pragma once

#include <linux/types.h>

/* Segments of a train on a path that aggregates, at least and at most. */
#define MIN_TRAIN 12
#define MAX_TRAIN 24
/* Runs of ACKs after which the longest frames are counted anew. */
#define FRAME_PERIOD 64
/* Segments of a probe. A receiver that delays ACKs answers them with two ACKs, which show whether frames hold several packets. */
#define PROBE 4
#define FIRST_PROBE 4
/* Longest time between two ACKs of one frame, us. It is twice that between segments: the host handles an ACK, and the segments that
 * leave for it, before the next one. Radios that do not aggregate need 150 us or more for an ACK. */
#define AT_ONCE_US 100
/* Shortest time between two frames of a radio, us. */
#define BETWEEN_FRAMES_US 200
/* Trains whose mean round trip decides. */
#define JUDGED_TRAINS 16

/* ACKs that arrive in one frame. */
struct run {
	/* Arrival of the newest ACK, us. */
	__u64 latest;
	__u32 acks;
	/* Segments that these ACKs acknowledge for the first time. */
	__u32 segments;
	/* Newest round trip, us; 0 if none counts. */
	__u32 us;
	/* Whether no ACK arrived for a while before, as between two frames. */
	__u32 is_frame;
};

/* Trains of one sender. */
struct trains {
	struct run run;
	/* Sum of the round trips of the newest trains, us. */
	__u64 sum;
	__u32 count;
	/* Shortest round trip of a segment that left alone, and mean one of the last JUDGED_TRAINS trains, us; 0 before. */
	__u32 single;
	__u32 mean;
	/* Size in half segments; 0 before the first ACK, and 2 on paths that do not aggregate. */
	__u32 halves;
	/* The longest and the second longest frame of this period, and the second longest of the period before, in segments. One frame
	 * that is longer than all others does not count: a host that was late handles two ACKs at once. */
	__u32 longest;
	__u32 second;
	__u32 before;
	__u32 runs;
	/* Runs until the next probe, and between the probe before and that one. */
	__u32 until_probe;
	__u32 between_probes;
	/* Whether the next segments are a probe. */
	__u32 is_probing;
	__u32 pad;
};

static __always_inline int trains_have_several(const struct trains *trains)
{
	return trains->halves >= 4;
}

/* Whether the round trip of trains is at least `times` halves of that of single segments; `unknown` before both are known. */
static __always_inline int trains_take(const struct trains *trains, __u32 times, int unknown)
{
	return trains->single && trains->mean ? 2ull * trains->mean >= (__u64)trains->single * times : unknown;
}

/* Whether trains pay, as far as is known. */
static __always_inline int trains_pay(const struct trains *trains)
{
	return trains_take(trains, 3, 1);
}

/* Whether a second train would only wait for the first one. */
static __always_inline int trains_fill_the_path(const struct trains *trains)
{
	return trains_take(trains, 8, 0);
}

/* Takes a round trip that an ACK for so many segments ended. */
static __always_inline void trains_round_trip(struct trains *trains, __u32 us, __u32 segments)
{
	if (!trains_have_several(trains)) {
		if (!trains->single || us < trains->single)
			trains->single = us;
		trains->sum = trains->count = 0;
		return;
	}
	if (4 * segments < trains->halves)
		return;
	trains->sum += us;
	if (++trains->count == JUDGED_TRAINS) {
		trains->mean = trains->sum / JUDGED_TRAINS;
		trains->sum = trains->count = 0;
	}
	if (!trains_pay(trains))
		trains->halves = 2;
}

/* Counts a frame of so many segments. */
static __always_inline void trains_frame(struct trains *trains, __u32 segments)
{
	if (trains->runs == FRAME_PERIOD) {
		trains->before = trains->second;
		trains->longest = trains->second = trains->runs = 0;
	}
	trains->runs++;
	if (segments > trains->longest) {
		trains->second = trains->longest;
		trains->longest = segments;
	} else if (segments > trains->second) {
		trains->second = segments;
	}
}

static __always_inline void trains_resize(struct trains *trains)
{
	__u32 longest = trains->second > trains->before ? trains->second : trains->before;
	__u32 low = 2, most = 2;

	if (longest >= 2) {
		low = 2 * MIN_TRAIN;
		most = 2 * (longest + 1);
	} else if (!trains_have_several(trains)) {
		if (--trains->until_probe == 0) {
			trains->between_probes = trains->between_probes < 1u << 28 ? 4 * trains->between_probes : 1u << 30;
			trains->until_probe = trains->between_probes;
			trains->is_probing = 1;
		}
		return;
	}
	if (most >= trains->halves)
		trains->halves++;
	else
		trains->halves = trains->halves >= most + 2 ? trains->halves - 2 : most;
	if (trains->halves < low)
		trains->halves = low;
	if (trains->halves > 2 * MAX_TRAIN)
		trains->halves = 2 * MAX_TRAIN;
}

/* Ends a run of ACKs. A single ACK is no sign of a frame: receivers acknowledge two segments at once, and ACKs are lost. */
static __always_inline void trains_end_run(struct trains *trains)
{
	const struct run *run = &trains->run;

	if (run->us)
		trains_round_trip(trains, run->us, run->segments);
	if (!trains_pay(trains))
		return;
	trains_frame(trains, run->is_frame && run->acks > 1 ? run->segments : 1);
	trains_resize(trains);
}

/* Takes an ACK of so many new segments, and a round trip, 0 if it does not count. */
static __always_inline void trains_ack(struct trains *trains, __u64 now_us, __u32 arrived, __u32 us)
{
	struct run *run = &trains->run;
	__u64 gap = now_us - run->latest;

	if (trains->halves == 0) {
		trains->halves = 2;
		trains->until_probe = trains->between_probes = FIRST_PROBE;
	}
	if (gap > AT_ONCE_US) {
		if (run->acks)
			trains_end_run(trains);
		run->acks = run->segments = run->us = 0;
		run->is_frame = gap >= BETWEEN_FRAMES_US;
	}
	run->latest = now_us;
	run->acks++;
	run->segments += arrived < MAX_TRAIN ? arrived : MAX_TRAIN;
	if (us)
		run->us = us;
}

/* The path is another one. */
static __always_inline void trains_new_path(struct trains *trains)
{
	trains->single = trains->mean = trains->count = trains->sum = 0;
}
