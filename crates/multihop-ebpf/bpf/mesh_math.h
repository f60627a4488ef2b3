/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The control law of mesh in integers, docs/models/mesh.md has the argument. Segments, segments per second and shares are
 * counted in millionths, times in microseconds. A test compiles it for the host and compares it with the law of
 * crates/multihop-transport/src/mesh/control.rs, whose names it has.
 */
#pragma once

#include <linux/types.h>

#include "cc_math.h"

/* Segments that the sender keeps in queues (B), and delay that it allows besides (delta). */
#define BACKLOG 400000
#define ALLOWED_US 5000
/* Segments over which the delay is smoothed, and which leave between two corrections, besides those of a round trip. */
#define SMOOTHED_OVER 8
#define EVERY 8
/* Until the length of the path or a round trip is known. */
#define FIRST_WINDOW (2 * MILLION)
#define MOST_WINDOW (4096 * MILLION)
#define LEAST_WINDOW (MILLION / 4)
/* So that no product overflows: 6 Gb/s of full segments. */
#define MOST_RATE (500000 * MILLION)
/* Intervals below the target after which growth accelerates, and those that count besides. */
#define PATIENCE (20 * MILLION)
#define MOST_SPARE (100 * MILLION)
/* Share of the error by which the rate changes in an interval, thousandths, and by which it grows at most, billionths. */
#define GAIN 50
#define MOST_GROWTH (500 * MILLION)
#define SEGMENTS_OF_A_RATE 16
#define MEMORY_US (10 * MILLION)
#define DRAIN_EVERY_US (5 * MILLION)
#define NONE 0xffffffffu

/* The minimum over the last one to two periods. */
struct lowest {
	/* 0 before the first sample. */
	__u64 began;
	__u32 now;
	__u32 before;
};

/* The rates of arrivals in the last two round trips. */
struct delivery {
	__u64 since;
	__u64 arrived;
	__u64 rates[2];
};

/* Rate and window of one sender. */
struct mesh {
	/* Round trips, and delays of data above `reference`: the clocks of both ends need not agree. */
	struct lowest base;
	struct lowest delays;
	struct delivery delivery;
	/* 0 in the start, in which there is a window. */
	__u64 rate;
	__u64 window;
	/* How far the backlog is from its target, as a share of the segments between two corrections. */
	__u32 error;
	__u32 is_above;
	/* Intervals for which it has been below. */
	__u64 spare;
	/* ns. */
	__u64 queueing;
	/* When the queue was last seen or made almost empty. */
	__u64 drained;
	__u32 hops;
	__u32 reference;
	/* Half segments of a train, set by the caller; 0 and 2: segments leave one by one. */
	__u32 halves;
	__u32 pad;
};

static __always_inline __u64 least(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __always_inline __u64 largest(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

static __always_inline void lowest_add(struct lowest *lowest, __u64 now, __u32 sample)
{
	__u64 age = now - lowest->began;

	if (lowest->began == 0) {
		lowest->began = now;
		lowest->now = lowest->before = NONE;
	} else if (age >= MEMORY_US) {
		lowest->before = age < 2 * MEMORY_US ? lowest->now : NONE;
		lowest->now = NONE;
		lowest->began = now;
	}
	if (sample < lowest->now)
		lowest->now = sample;
}

static __always_inline __u32 lowest_of(const struct lowest *lowest)
{
	return lowest->began == 0 ? NONE : least(lowest->now, lowest->before);
}

/* At most 1. */
static __always_inline __u64 share(__u64 part, __u64 whole)
{
	if (part >= whole)
		return MILLION;
	return whole < 1ull << 43 ? part * MILLION / whole : part / (whole / MILLION);
}

/* Segments that leave in so many us. */
static __always_inline __u64 within(__u64 rate, __u64 us)
{
	return rate * us / MILLION;
}

static __always_inline __u64 billionths(__u64 rate, __u64 part)
{
	return rate < 10000 * MILLION ? rate * part / (1000 * MILLION) : rate / 1000 * part / MILLION;
}

static __always_inline void delivery_add(struct delivery *delivery, __u64 now, __u32 arrived, __u64 round)
{
	__u64 elapsed;

	if (delivery->since == 0)
		delivery->since = now;
	delivery->arrived = least(delivery->arrived + arrived, MILLION);
	elapsed = now - delivery->since;
	if (delivery->arrived >= SEGMENTS_OF_A_RATE && elapsed >= round) {
		delivery->rates[1] = delivery->rates[0];
		delivery->rates[0] = delivery->arrived * MILLION * MILLION / elapsed;
		delivery->since = now;
		delivery->arrived = 0;
	}
}

/* A round trip as the queues are now; there has been one. */
static __always_inline __u64 mesh_round(const struct mesh *mesh)
{
	return largest(lowest_of(&mesh->base) + mesh->queueing / 1000, 1);
}

/* Half segments that leave together, at least two. */
static __always_inline __u32 mesh_halves(const struct mesh *mesh)
{
	return largest(mesh->halves, 2);
}

/* Segments in queues at which the rate rests. Those of a train do not wait for each other, and what delays a host delays a
 * train once. */
static __always_inline __u64 mesh_target(const struct mesh *mesh, __u64 rate)
{
	__u32 halves = mesh_halves(mesh);

	return BACKLOG * (halves - 1) + within(rate, ALLOWED_US) * 2 / halves;
}

/* Segments that leave between two corrections, besides those of a round trip. */
static __always_inline __u64 mesh_every(const struct mesh *mesh)
{
	__u32 halves = mesh_halves(mesh);

	return halves < 4 ? EVERY * MILLION : halves * MILLION / 2;
}

static __always_inline __u64 mesh_bounded(const struct mesh *mesh, __u64 rate, __u64 round)
{
	const __u64 *rates = mesh->delivery.rates;

	if (rates[1])
		rate = least(rate, largest(rates[0], rates[1]) * 3 / 2);
	rate = least(rate, least(MOST_WINDOW * MILLION / round, MOST_RATE));
	return largest(rate, LEAST_WINDOW * MILLION / round);
}

/* As in the start, up to the rate at which a segment leaves in every second round trip. */
static __always_inline __u64 mesh_sparse(const struct mesh *mesh, __u64 rate, __u64 arrived)
{
	__u64 base = largest(lowest_of(&mesh->base), 1);

	return least(least(rate + arrived * MILLION * MILLION / base, MILLION * MILLION / 2 / base), MOST_RATE);
}

/* The length of the path, 0 if it is not known. */
static __always_inline void mesh_hops(struct mesh *mesh, __u32 hops)
{
	if (hops == mesh->hops)
		return;
	mesh->hops = hops;
	if (mesh->rate == 0 && mesh->base.began == 0)
		mesh->window = largest(hops * MILLION / REUSE_HOPS, MILLION);
	mesh->base.began = 0;
	mesh->delays.began = 0;
}

static __always_inline void mesh_start(struct mesh *mesh, __u32 arrived, __u64 delay, int is_limited, __u64 round)
{
	if (mesh->window * delay / round < BACKLOG) {
		if (is_limited)
			mesh->window = least(mesh->window + arrived * MILLION, MOST_WINDOW);
		return;
	}
	mesh->rate = least(mesh->window * MILLION / round, MOST_RATE);
	mesh->error = mesh->spare = 0;
}

static __always_inline void mesh_steady(struct mesh *mesh, __u64 now_us, __u32 arrived, __u64 newest, int is_limited, __u64 round)
{
	__u64 rate = mesh->rate, interval = mesh_every(mesh) + within(rate, lowest_of(&mesh->base));
	__u64 target = mesh_target(mesh, rate), backlog = within(rate, mesh->queueing / 1000);
	__u64 part = share(arrived * MILLION, interval), excess, boost;

	if (within(rate, newest) < target / 4)
		mesh->drained = now_us;
	mesh->is_above = backlog >= target;
	mesh->error = share(mesh->is_above ? backlog - target : target - backlog, interval);
	mesh->spare = is_limited && !mesh->is_above ? least(mesh->spare + part, PATIENCE + MOST_SPARE) : 0;
	if (mesh->is_above) {
		rate -= billionths(rate, mesh->error * GAIN * part / MILLION);
	} else if (is_limited) {
		/* Without enough data nobody knows whether the path carries more. */
		excess = mesh->spare > PATIENCE ? (mesh->spare - PATIENCE) / 1000 : 0;
		boost = 1000 + excess * excess / 1000;
		rate += billionths(rate, least(mesh->error * GAIN * boost / 1000, MOST_GROWTH) * part / MILLION);
	}
	rate = mesh_bounded(mesh, rate, round);
	if (is_limited && backlog < target / 2)
		rate = largest(rate, mesh_sparse(mesh, mesh->rate, arrived));
	mesh->rate = rate;
}

/* Takes an ACK of so many new segments, the round trip of the newest, and its delay by clocks that differ by any constant. */
static __always_inline void mesh_ack(struct mesh *mesh, __u64 now_us, __u32 arrived, __u32 us, __u32 delay, int is_limited)
{
	__u64 newest, round;

	if (arrived == 0)
		return;
	if (mesh->window == 0)
		mesh->window = FIRST_WINDOW;
	if (mesh->drained == 0)
		mesh->drained = now_us;
	us = least(us, LONGEST_US);
	lowest_add(&mesh->base, now_us, us);
	if (mesh->delays.began == 0)
		mesh->reference = delay;
	delay += (1u << 30) - mesh->reference;
	lowest_add(&mesh->delays, now_us, delay);
	newest = least(delay - lowest_of(&mesh->delays), LONGEST_US);
	if (mesh->rate && arrived < SMOOTHED_OVER)
		mesh->queueing = (mesh->queueing * (SMOOTHED_OVER - arrived) + newest * 1000 * arrived) / SMOOTHED_OVER;
	else
		mesh->queueing = newest * 1000;
	round = mesh_round(mesh);
	delivery_add(&mesh->delivery, now_us, arrived, round);
	if (mesh->rate)
		mesh_steady(mesh, now_us, arrived, newest, is_limited, round);
	else
		mesh_start(mesh, arrived, newest > ALLOWED_US ? newest - ALLOWED_US : 0, is_limited, round);
}

/* Nothing was heard for a timeout. If there was no long queue before, the path is broken, not congested. */
static __always_inline void mesh_timeout(struct mesh *mesh)
{
	/* Silence is no rate of arrivals. */
	mesh->delivery.since = mesh->delivery.arrived = 0;
	if (mesh->base.began == 0)
		return;
	if (mesh->rate == 0) {
		mesh->window = largest(mesh->window / 2, MILLION);
		return;
	}
	if (mesh->queueing / 1000 > lowest_of(&mesh->base))
		mesh->rate /= 2;
	mesh->rate = mesh_bounded(mesh, mesh->rate, mesh_round(mesh));
	mesh->error = mesh->spare = 0;
}

/* How long to pause so that the queue runs empty, if it has not been for a while, us. */
static __always_inline __u64 mesh_drain(struct mesh *mesh, __u64 now_us)
{
	if (mesh->rate == 0 || now_us - mesh->drained < DRAIN_EVERY_US)
		return 0;
	mesh->drained = now_us;
	return least(mesh->queueing / 1000, mesh_target(mesh, mesh->rate) * 4 * MILLION / mesh->rate);
}

/* Segments on the path, those of the backlog included, and the time between two of them. */
static __always_inline __u64 mesh_window(const struct mesh *mesh)
{
	__u64 made_good = mesh->rate * (mesh->error / 2) / MILLION;
	__u64 pace = mesh->is_above ? mesh->rate - made_good : least(mesh->rate + made_good, MOST_RATE);

	if (mesh->rate == 0 && mesh->window)
		return mesh->window;
	if (mesh->base.began == 0)
		return FIRST_WINDOW;
	return least(largest(within(pace, mesh_round(mesh)), LEAST_WINDOW), MOST_WINDOW);
}

/* ns; 0 before the first round trip. */
static __always_inline __u64 mesh_gap(const struct mesh *mesh)
{
	return mesh->base.began ? mesh_round(mesh) * 1000 * MILLION / mesh_window(mesh) : 0;
}
