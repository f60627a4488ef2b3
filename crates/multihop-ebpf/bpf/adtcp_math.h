/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * ADTCP in integers, docs/models/adtcp.md has the rules. The receiver's metrics and states are those of
 * crates/multihop-transport/src/tcp/adtcp, whose names they have, with ticks of 1 ms; a test compiles this for the host and
 * compares them. Ranges are powers of two, so that bins are found by shifts.
 */
#pragma once

#include <linux/types.h>

/* Bins of a histogram (N), samples that it remembers (S), and tenths of them below a high one or above a low one. */
#define BINS 8
#define MEMORY 100
#define REST 7
/* The weight of one sample. */
#define WEIGHT (1ull << 32)
/* No range is larger: samples have 31 bits. */
#define MOST_SHIFT 24
/* Gaps in the data that has arrived. What is missing beyond so many does not count. A power of two. */
#define HOLES 16
#define TICK_NS 1000000ull
/* Longer round trips are none, ms: the clock has other ticks. */
#define LONGEST_MS 16000

#define STATE_CONGESTION 1
#define STATE_ROUTE_CHANGE 2
#define STATE_CHANNEL_ERROR 4
#define STATE_DISCONNECTION 8

/* Where zero is among the bins: ratios begin there, and differences of delays lie around it. */
#define ORIGIN_ZERO 0
#define ORIGIN_CENTRE (BINS / 2)

enum level { LEVEL_MIDDLE, LEVEL_LOW, LEVEL_HIGH };

/* The rank of a sample among earlier ones. */
struct density {
	__u64 weights[BINS];
	__u32 count;
	/* The width of a bin is 2 to this power. */
	__u32 shift;
	/* Samples since that changed. */
	__u32 settled;
	__u32 pad;
};

/* Data that is missing, empty if both are equal. */
struct hole {
	__u32 start;
	__u32 end;
};

/* A packet with data as the receiver sees it; times in ms by clocks that need not agree. */
struct packet {
	__u64 now_ns;
	__u32 arrived;
	__u32 sent;
	/* The receiver's own clock as the packet echoes it. */
	__u32 echo;
	__u32 seq;
	__u32 length;
	/* The network card may have joined several segments. */
	__u32 segments;
};

/* The measurements of a receiver. */
struct meter {
	struct density idd;
	struct density stt;
	struct density por;
	struct density plr;
	struct hole holes[HOLES];
	/* Smoothed round trip, ns; 0 before the first. */
	__u64 rtt;
	/* The interval, ns; without length before the first. */
	__u64 start;
	__u64 length;
	__u32 packets;
	__u32 late;
	__u32 missing;
	/* The last packet, if there was one. */
	__u32 has_last;
	__u32 arrived;
	__u32 sent;
	__u32 echo;
	/* The newest sending time. */
	__u32 newest;
	/* One beyond the last byte that has arrived, and the longest segment. */
	__u32 furthest;
	__u32 mss;
	/* Where a hole is free, and the hole that a packet adds. Here and not in variables, because Linux 6.1 follows each
	 * combination of the values that a loop gives to variables, and gives up. */
	__u32 vacant;
	struct hole added;
	__u32 idd_level;
	__u32 stt_level;
	__u32 por_level;
	__u32 plr_level;
	__u32 is_silent;
};

static __always_inline __u64 density_total(const struct density *density)
{
	return density->count * WEIGHT;
}

static __always_inline enum level density_level(const struct density *density, __u32 bin)
{
	__u64 below = 0, above = 0;

	if (density->count < MEMORY)
		return LEVEL_MIDDLE;
	for (__u32 i = 0; i < BINS; i++) {
		below += i < bin ? density->weights[i] : 0;
		above += i > bin ? density->weights[i] : 0;
	}
	if (10 * below >= REST * density_total(density))
		return LEVEL_HIGH;
	return 10 * above >= REST * density_total(density) ? LEVEL_LOW : LEVEL_MIDDLE;
}

/* Removes the weight of one sample in proportion. */
static __always_inline void density_forget(struct density *density)
{
	if (density->count <= MEMORY)
		return;
	for (int i = 0; i < BINS; i++)
		density->weights[i] = (density->weights[i] * MEMORY + MEMORY / 2) / (MEMORY + 1);
	density->count = MEMORY;
}

static __always_inline void density_double(struct density *density, __u32 origin)
{
	__u64 pairs[BINS / 2];

	for (int i = 0; i < BINS / 2; i++)
		pairs[i] = density->weights[2 * i] + density->weights[2 * i + 1];
	for (int i = 0; i < BINS; i++)
		density->weights[i] = 0;
	for (int i = 0; i < BINS / 2; i++)
		density->weights[origin / 2 + i] = pairs[i];
	density->shift++;
	density->settled = 0;
}

static __always_inline void density_halve(struct density *density, __u32 origin)
{
	__u64 kept[BINS / 2], below = 0, above = 0;

	for (int i = 0; i < BINS / 2; i++)
		kept[i] = density->weights[origin / 2 + i];
	for (__u32 i = 0; i < origin / 2; i++)
		below += density->weights[i];
	for (__u32 i = origin / 2 + BINS / 2; i < BINS; i++)
		above += density->weights[i];
	for (int i = 0; i < BINS / 2; i++) {
		density->weights[2 * i] = kept[i] / 2;
		density->weights[2 * i + 1] = kept[i] - kept[i] / 2;
	}
	density->weights[0] += below;
	density->weights[BINS - 1] += above;
	density->shift--;
	density->settled = 0;
}

/* The weight outside of the half of the bins around the origin. */
static __always_inline __u64 density_outer(const struct density *density, __u32 origin)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < BINS; i++)
		sum += i < origin / 2 || i >= origin / 2 + BINS / 2 ? density->weights[i] : 0;
	return sum;
}

static __always_inline void density_fit(struct density *density, __u32 origin)
{
	__u64 end = density->weights[BINS - 1], lower = origin ? density->weights[0] : 0, total = density_total(density);

	density->settled++;
	if (4 * (end > lower ? end : lower) > total) {
		if (density->shift < MOST_SHIFT)
			density_double(density, origin);
	} else if (density->settled >= MEMORY && density->shift > 0 && 8 * density_outer(density, origin) < total) {
		density_halve(density, origin);
	}
}

/* Takes a sample, in units of the narrowest bins; returns its rank. A function, because there are five calls. */
static __attribute__((noinline)) enum level density_insert(struct density *density, __s32 sample, __u32 origin)
{
	__s32 place = (sample >> (density->shift & 31)) + origin;
	__u32 bin = (place < 0 ? 0 : place < BINS ? place : BINS - 1) & (BINS - 1);
	enum level level;

	density->weights[bin] += WEIGHT;
	density->count++;
	level = density_level(density, bin);
	density_forget(density);
	density_fit(density, origin);
	return level;
}

static __always_inline int is_after(__u32 a, __u32 b)
{
	return (__s32)(a - b) > 0;
}

/* Takes the data of a packet out of a hole. If it was in the middle, `rest` becomes the hole behind the data. */
static __always_inline void hole_fill(struct hole *hole, __u32 seq, __u32 end, struct hole *rest)
{
	if (!is_after(end, hole->start) || !is_after(hole->end, seq))
		return;
	if (!is_after(seq, hole->start)) {
		hole->start = is_after(hole->end, end) ? end : hole->end;
		return;
	}
	if (is_after(hole->end, end)) {
		rest->start = end;
		rest->end = hole->end;
	}
	hole->end = seq;
}

/* Notes what has arrived. Returns whether that includes data beyond everything before. */
static __always_inline int meter_take(struct meter *meter, const struct packet *packet)
{
	__u32 seq = packet->seq, end = seq + packet->length, part = packet->length / packet->segments;
	int is_furthest;

	if (!meter->has_last)
		meter->furthest = seq;
	if (part > meter->mss)
		meter->mss = part;
	is_furthest = is_after(end, meter->furthest);
	meter->added.start = is_after(seq, meter->furthest) ? meter->furthest : seq;
	meter->added.end = seq;
	meter->vacant = HOLES;
	for (__u32 i = 0; i < HOLES; i++) {
		hole_fill(&meter->holes[i], seq, end, &meter->added);
		if (meter->holes[i].start == meter->holes[i].end)
			meter->vacant = i;
	}
	if (meter->vacant < HOLES)
		meter->holes[meter->vacant & (HOLES - 1)] = meter->added;
	if (is_furthest)
		meter->furthest = end;
	return is_furthest;
}

/* Segments that are missing below the furthest one. */
static __always_inline __u32 meter_missing(const struct meter *meter)
{
	__u32 missing = 0, mss = meter->mss ? meter->mss : 1;

	for (int i = 0; i < HOLES; i++)
		missing += (meter->holes[i].end - meter->holes[i].start + mss - 1) / mss;
	return missing;
}

/* From an ACK to the first new data that it released. An echo that is repeated, or carried by a retransmission, has
 * waited. */
static __always_inline void meter_round_trip(struct meter *meter, const struct packet *packet, int is_furthest)
{
	__u32 ticks = packet->arrived - packet->echo;
	__u64 sample = ticks * TICK_NS;

	if (packet->echo == meter->echo || !is_furthest || ticks == 0 || ticks > LONGEST_MS)
		return;
	if (meter->rtt == 0)
		meter->rtt = sample;
	else if (sample > meter->rtt)
		meter->rtt += (sample - meter->rtt) / 8;
	else
		meter->rtt -= (meter->rtt - sample) / 8;
}

/* Half the round trip. Intervals follow one another while none is empty. */
static __always_inline void meter_begin(struct meter *meter, __u64 now)
{
	__u64 end = meter->start + meter->length, length = meter->rtt / 2;

	if (meter->rtt == 0)
		return;
	if (length < TICK_NS)
		length = TICK_NS;
	meter->start = meter->length && now - end < length ? end : now;
	meter->length = length;
	meter->packets = meter->late = meter->missing = 0;
}

static __always_inline void meter_end(struct meter *meter, __u64 now)
{
	__u64 packets = meter->packets ? meter->packets : 1, length = meter->length ? meter->length : 1;

	meter->stt_level = density_insert(&meter->stt, packets * 1000000000ull / length, ORIGIN_ZERO);
	/* In units of 1/32. */
	meter->por_level = density_insert(&meter->por, meter->late * 32ull / packets, ORIGIN_ZERO);
	meter->plr_level = density_insert(&meter->plr, meter->missing * 32ull / packets, ORIGIN_ZERO);
	meter->is_silent = 0;
	if (now - (meter->start + meter->length) < meter->length)
		return;
	/* A period without packets is one sample, whatever its length. */
	meter->stt_level = density_insert(&meter->stt, 0, ORIGIN_ZERO);
	meter->is_silent = meter->stt.count >= MEMORY;
	meter->por_level = meter->plr_level = LEVEL_MIDDLE;
}

static __always_inline void meter_count(struct meter *meter, const struct packet *packet)
{
	__u32 is_late = is_after(meter->newest, packet->sent);

	if (!is_late)
		meter->newest = packet->sent;
	if (meter->length == 0)
		return;
	meter->packets += packet->segments;
	meter->late += is_late ? packet->segments : 0;
	meter->missing = meter_missing(meter);
}

/* A packet with data has arrived, of at least one segment. */
static __always_inline void meter_packet(struct meter *meter, const struct packet *packet)
{
	int is_furthest = meter_take(meter, packet);

	if (meter->has_last) {
		__u32 apart = packet->arrived - meter->arrived, sent_apart = packet->sent - meter->sent;

		meter->idd_level = density_insert(&meter->idd, apart - sent_apart, ORIGIN_CENTRE);
		meter_round_trip(meter, packet, is_furthest);
	} else {
		meter->newest = packet->sent;
		meter->has_last = 1;
	}
	meter->arrived = packet->arrived;
	meter->sent = packet->sent;
	meter->echo = packet->echo;
	if (meter->length == 0) {
		meter_begin(meter, packet->now_ns);
	} else if (packet->now_ns >= meter->start + meter->length) {
		meter_end(meter, packet->now_ns);
		meter_begin(meter, packet->now_ns);
	}
	meter_count(meter, packet);
}

/* What the receiver reports. */
static __always_inline __u32 meter_state(const struct meter *meter)
{
	if (meter->idd_level == LEVEL_HIGH && meter->stt_level == LEVEL_LOW)
		return STATE_CONGESTION;
	return (meter->por_level == LEVEL_HIGH ? STATE_ROUTE_CHANGE : 0) |
	       (meter->plr_level == LEVEL_HIGH ? STATE_CHANNEL_ERROR : 0) | (meter->is_silent ? STATE_DISCONNECTION : 0);
}

/* Window and threshold, segments. */
struct window {
	__u32 window;
	__u32 threshold;
};

/* What a sender keeps of them, told this state, after a loss, or after a timeout; no window if they are those of NewReno. */
static __always_inline struct window window_kept(__u32 state, int is_timeout, struct window before)
{
	struct window kept = before;

	if (state & STATE_CONGESTION || (state == 0 && !is_timeout))
		kept.window = 0;
	else if (is_timeout || state != STATE_CHANNEL_ERROR) {
		/* The path is another one, or was gone for a while. */
		if (kept.window > kept.threshold)
			kept.window = kept.threshold;
		if (kept.window < 1)
			kept.window = 1;
		kept.threshold = kept.window < 2 ? 2 : kept.window;
	}
	return kept;
}
