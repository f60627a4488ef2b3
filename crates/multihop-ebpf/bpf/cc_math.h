/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The arithmetic of the congestion controls, in integers. A test compiles it for the host and compares it with the
 * simulator's.
 */
#pragma once

#include <linux/types.h>

#define MILLION 1000000ull
/* Round trips over which the variation is taken (N). */
#define HISTORY 50
/* A power of two, so that a mask keeps every index in range. */
#define SLOTS 64
/* Longer round trips are truncated (17 s), so that no sum overflows, us. */
#define LONGEST_US (1u << 24)
/* A segment leaves once the one before it is this many hops away. */
#define REUSE_HOPS 4
/* Each step at least halves a root that is far too large; the last few double the digits that are right. */
#define ROOT_STEPS 38
#define ONE 256
/* Two ACKs in a row for two segments each. */
#define SURELY_DELAYING (ONE * 13 / 10)
/* Between two segments that are to share an ACK, ns: Linux holds one for 36 ms at least. */
#define WITHIN_TWO 30000000ull
/* Weight of the past in the average delay, tenths. */
#define ALPHA 7

/* The last round trips with their sum and the sum of their squares: integers, so that nothing drifts. */
struct history {
	__u64 sum;
	__u64 squares;
	__u32 samples[SLOTS];
	__u32 count;
	__u32 next;
};

/* Adaptive pacing of one sender. */
struct pacer {
	struct history history;
	/* Average delay of REUSE_HOPS hops, ns; 0 before the first sample. */
	__u64 delay;
	/* Time between two segments, ns; 0 before the first sample. */
	__u64 gap;
	/* Coefficient of variation, millionths. */
	__u32 cov;
	__u32 pad;
};

/* The integer part of the square root of less than 2^62, by Newton's method from above. Only the last step has a branch:
 * the verifier would follow every way through more of them. */
static __always_inline __u64 square_root(__u64 n)
{
	__u64 root = 1ull << 31;

	if (n == 0)
		return 0;
	for (int step = 0; step < ROOT_STEPS; step++)
		root = (root + n / root) / 2;
	return root * root > n ? root - 1 : root;
}

static __always_inline void history_push(struct history *history, __u32 us)
{
	__u64 sample = us < LONGEST_US ? us : LONGEST_US;

	if (history->count >= HISTORY) {
		__u64 oldest = history->samples[(history->next - HISTORY) & (SLOTS - 1)];

		history->sum -= oldest;
		history->squares -= oldest * oldest;
	} else {
		history->count++;
	}
	history->samples[history->next & (SLOTS - 1)] = sample;
	history->next++;
	history->sum += sample;
	history->squares += sample * sample;
}

/* Standard deviation of the samples, as a share of their mean, millionths. */
static __always_inline __u32 history_variation(const struct history *history)
{
	__u64 n = history->count, deviation;

	if (n < 2 || history->sum == 0)
		return 0;
	deviation = square_root((n * history->squares - history->sum * history->sum) / (n * (n - 1)));
	return deviation * MILLION * n / history->sum;
}

/* Takes a round trip over so many hops; `payload` is the time that a link takes for what data has and its ACK has not,
 * ns. */
static __always_inline void pacer_sample(struct pacer *pacer, __u32 us, __u32 hops, __u64 payload)
{
	__u64 n, delay;

	if (us > LONGEST_US)
		us = LONGEST_US;
	history_push(&pacer->history, us);
	pacer->cov = history_variation(&pacer->history);
	if (hops == 0)
		return;
	n = hops < REUSE_HOPS ? hops : REUSE_HOPS;
	delay = us * 1000ull * n / (2 * hops) + payload * n / 2;
	pacer->delay = pacer->delay ? (pacer->delay * ALPHA + delay * (10 - ALPHA)) / 10 : delay;
	pacer->gap = pacer->delay + 2 * pacer->cov * pacer->delay / MILLION;
}

/* The average of segments for each ACK after one more, in units of ONE. More than two are an exception. */
static __always_inline __u32 per_ack_with(__u32 per_ack, __u32 acked)
{
	__u32 now = (acked < 2 ? acked : 2) * ONE;

	if (acked == 0)
		return per_ack;
	return per_ack ? (3 * per_ack + now) / 4 : now;
}

/* Whether a receiver delays ACKs: it sends fewer than segments arrive. */
static __always_inline int is_delaying(__u32 per_ack)
{
	return per_ack > ONE + ONE / 5;
}

/* Whether a round trip counts: not if the ACK was held. */
static __always_inline int is_counted(__u32 per_ack, __u32 acked)
{
	return acked != 1 || !is_delaying(per_ack);
}

/* Bytes of payload per second with which Linux waits for `gap` ns after a segment of `mss` bytes, at least 1. If the
 * segment is `late`, Linux takes that from the gap, up to half of it: the gap is made longer by as much. */
static __always_inline __u64 rate_of(__u32 mss, __u64 gap, __u64 late)
{
	__u64 made = gap + (late < gap ? late : gap), rate = mss * 1000000000ull / (made ? made : 1);

	return rate ? rate : 1;
}

/* Whether the segment with this number, from 0, is followed by another while the receiver would hold its ACK, to find out
 * whether it does. Linux acknowledges the first segments of a connection at once. */
static __always_inline int is_trial(__u32 number)
{
	__u32 phase = number % 1024;

	return phase >= 24 && phase < 100 && phase % 8 == 0;
}

/* The gap after the segment with this number. To a receiver that delays ACKs, segments leave two by two, and the second
 * arrives while the ACK of the first is held. On average it is `gap`, ns. */
static __always_inline __u64 gap_after(__u64 gap, __u32 number, int is_delaying)
{
	int is_first = is_delaying ? number % 2 == 0 : is_trial(number);
	int is_second = is_delaying ? number % 2 : is_trial(number - 1);

	if (gap <= WITHIN_TWO || (!is_first && !is_second))
		return gap;
	return is_first ? WITHIN_TWO : 2 * gap - WITHIN_TWO;
}

/* Hops that a packet has crossed, from the TTL with which it arrives: systems begin with 64, 128 or 255. */
static __always_inline __u32 hops_of(__u8 ttl)
{
	__u32 begun = ttl <= 64 ? 64 : ttl <= 128 ? 128 : 255;

	return begun - ttl + 1;
}

/* The largest window over a path: a quarter of its hops, and at least two segments, because a receiver that delays its
 * ACKs waits for the second. */
static __always_inline __u32 clamp_of(__u32 hops)
{
	__u32 quarter = (hops + 3) / 4;

	return quarter > 2 ? quarter : 2;
}
