/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What the programs and the loader (src/records.rs) share. Every member is where a packed structure would have it.
 */
#pragma once

#include <linux/types.h>

#include "adtcp_math.h"
#include "cc_math.h"
#include "mesh_math.h"
#include "trains_math.h"

#define CONTROL_AP 0
#define CONTROL_CLAMP 1
#define CONTROL_MESH 2
#define CONTROL_ADTCP 3

#define SOL_TCP 6
#define TCP_CONGESTION 13
#define FAMILY_IPV4 2

/* The letters "mh_adtcp", with which the names of ADTCP controls begin, as a number: a text would be a map for the loader. */
#define ADTCP_NAME 0x70637464615f686dULL
/* Calls of sockops programs in which options of headers are written and read. */
#define OPTION_CALLS (BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)

struct config {
	/* Bit rate of the links, kb/s. */
	__u32 kbps;
	/* Whether every round trip is written into the ring buffer. */
	__u32 is_traced;
	/* The control that connections of a cgroup use. */
	char chosen[16];
};

/* States of the network (ADTCP) in ACKs, and how many had each; several may hold. */
struct reports {
	__u32 all;
	__u32 congestion;
	__u32 route_change;
	__u32 channel_error;
	__u32 disconnection;
	__u32 newest;
};

/* What ADTCP did. */
struct adtcp {
	struct reports returned;
	struct reports received;
	/* Losses and timeouts, and those after which the window was kept. */
	__u32 losses;
	__u32 kept;
};

/* One connection; it lives as long as its socket. */
struct flow {
	struct pacer pacer;
	struct mesh mesh;
	struct trains trains;
	/* Time between two segments, and after one of them besides, ns. */
	__u64 gap;
	__u64 pause;
	/* The number of that segment. */
	__u32 pause_after;
	/* The number of the first segment of the newest probe. */
	__u32 probe;
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
	/* Whether a train has begun to leave for this run of ACKs. */
	__u32 is_leaving;
	struct adtcp adtcp;
	/* When the newest state was sent, by the other end's clock. */
	__u32 told_at;
	/* At the last loss: window and threshold before it, no window once that is over, and NewReno's threshold. */
	struct window before;
	__u32 halved;
	/* What is to be restored after recovery. */
	struct window kept;
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
	/* Of struct adtcp. */
	__u32 told;
	__u32 losses;
	__u32 kept;
	__u32 pad;
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
	struct adtcp adtcp;
	__u32 pad;
};
