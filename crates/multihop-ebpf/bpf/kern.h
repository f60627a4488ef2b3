/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The members of the kernel's structures that the programs use. The loader finds where the running kernel has them
 * (CO-RE), so that one object file fits all kernels that have them.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;


struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	__u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_connection_sock {
	struct sock icsk_inet_sock;
};

struct tcp_options_received {
	__u32 rcv_tsval;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	__u32 data_segs_out;
	__u32 delivered;
	__u32 lost_out;
	__u32 mss_cache;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 sacked_out;
	__u32 snd_cwnd;
	__u32 snd_nxt;
	__u32 snd_ssthresh;
	__u32 snd_una;
	__u32 srtt_us;
	__u64 tcp_clock_cache;
	__u64 tcp_wstamp_ns;
	__u32 tsoffset;
	__u32 write_seq;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

#pragma clang attribute pop

/* What a program writes here is matched with the kernel's structure by names; the loader wants the name first. */
struct tcp_congestion_ops {
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, __u32 event);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*min_tso_segs)(struct sock *sk);
};

/* The kernel's enumerations and constants. */
#define TCP_CA_Open 0
#define TCP_CA_Recovery 3
#define TCP_CA_Loss 4
#define CA_EVENT_COMPLETE_CWR 2
#define TCP_CONG_NON_RESTRICTED 1
#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
