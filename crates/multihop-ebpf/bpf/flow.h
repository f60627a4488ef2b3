/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What the programs and the loader (src/records.rs) share. Every member is where a packed structure would have it.
 */
#pragma once

#include <linux/types.h>

#include "cc_math.h"
#include "mesh_math.h"

#define CONTROL_AP 0
#define CONTROL_CLAMP 1
#define CONTROL_MESH 2

#define SOL_TCP 6
#define TCP_CONGESTION 13
#define FAMILY_IPV4 2

struct config {
	/* Bit rate of the links, kb/s. */
	__u32 kbps;
	/* Whether every round trip is written into the ring buffer. */
	__u32 is_traced;
	/* The control that connections of a cgroup use. */
	char chosen[16];
};

/* One connection; it lives as long as its socket. */
struct flow {
	struct pacer pacer;
	struct mesh mesh;
	/* Time between two segments, and after one of them besides, ns. */
	__u64 gap;
	__u64 pause;
	/* The number of that segment. */
	__u32 pause_after;
	/* Segments that had arrived when a round trip last counted. */
	__u32 delivered;
	/* What was acknowledged then. */
	__u32 una;
	/* Both clocks at the first round trip, ms. */
	__u32 first_ms;
	__u32 first_tick;
	/* Whether the other end's clock has no ticks of 1 ms. */
	__u32 is_odd;
	__u32 control;
	/* 0 before the first packet. */
	__u32 hops;
	__u32 rtt_us;
	__u32 srtt_us;
	__u32 cwnd;
	__u32 mss;
	__u32 ca_state;
	/* Segments for each ACK, on average, in units of ONE; 0 before the first. */
	__u32 per_ack;
	/* Whether the receiver has been found to delay ACKs. */
	__u32 has_delayed;
	__u32 pad;
};

/* One ACK. */
struct sample {
	__u64 time;
	__u64 gap;
	__u64 delay;
	__u32 port;
	__u32 hops;
	__u32 rtt_us;
	__u32 cov;
	__u32 acked;
	__u32 is_counted;
	__u32 cwnd;
	__u32 sent;
};

/* One connection, for those who look. Addresses in the order of the network, IPv4 in the first word. */
struct record {
	__u32 local[4];
	__u32 remote[4];
	__u64 gap;
	__u32 family;
	__u32 local_port;
	__u32 remote_port;
	__u32 namespace;
	__u32 control;
	__u32 hops;
	__u32 rtt_us;
	__u32 srtt_us;
	__u32 cwnd;
	__u32 mss;
	__u32 cov;
	__u32 pad;
};
