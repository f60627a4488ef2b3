// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Congestion controls for multi-hop networks in the TCP of Linux:
 *
 *   mh_ap     adaptive pacing (TCP-AP): Reno's window, and a gap after each segment
 *   mh_clamp  Reno's window, limited to a quarter of the hops
 *
 * How they differ from the policies of the simulator (crates/multihop-transport):
 *
 *   - The kernel paces only from the tenth data segment on; until then the window is one segment.
 *   - The kernel never sends faster than 1.2 windows per round trip (2 in slow start), and after a delay of its own
 *     the next gap is up to half as long.
 *   - Round trips are those that the kernel measures, in microseconds, of the last segment that an ACK covers.
 *   - To a receiver that delays ACKs, segments leave in pairs, each with two gaps after it. The ACK of a pair is not
 *     delayed; ACKs of one segment do not count then.
 *   - The length of the path is that of the way back, from the TTL of what arrives.
 *
 * Loss recovery, timers and the handshake are the kernel's.
 */
#include "kern.h"

#include <asm/socket.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "cc_math.h"
#include "flow.h"

/* The kernel lets a program implement a congestion control only if its licence is compatible with the GPL. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader, before the programs are loaded. */
const volatile struct config config SEC(".rodata.config");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} multihop_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} samples SEC(".maps");

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* Data segments that the kernel does not pace, whatever their rate. They leave one by one, each after the ACK of the last. */
#define UNPACED 10
#define FIRST_WINDOW 1
/* The kernel counts what has been delivered, and the SYN with it. */
#define SYN_AND_LAST 2
/* Linux sends at most half of a window together. */
#define WINDOW_FOR_PAIRS 4

static __always_inline struct tcp_sock *tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&multihop_flows, sk, 0, 0);
}

static __always_inline void begin(struct sock *sk, __u32 control)
{
	struct flow *flow = bpf_sk_storage_get(&multihop_flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (flow)
		flow->control = control;
	tcp(sk)->snd_cwnd = FIRST_WINDOW;
}

/* What is shown of a connection. */
static __always_inline void note(struct sock *sk, struct flow *flow, __s32 rtt_us)
{
	if (rtt_us > 0)
		flow->rtt_us = rtt_us;
	flow->srtt_us = tcp(sk)->srtt_us >> 3;
	flow->cwnd = tcp(sk)->snd_cwnd;
	flow->mss = tcp(sk)->mss_cache;
}

static __always_inline void trace(struct sock *sk, const struct flow *flow, __u32 acked, __u32 is_counted)
{
	struct sample *sample;

	if (!config.is_traced)
		return;
	sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);
	if (!sample)
		return;
	sample->time = bpf_ktime_get_ns();
	sample->gap = flow->pacer.gap;
	sample->delay = flow->pacer.delay;
	sample->port = sk->__sk_common.skc_num;
	sample->hops = flow->hops;
	sample->rtt_us = flow->rtt_us;
	sample->cov = flow->pacer.cov;
	sample->acked = acked;
	sample->is_counted = is_counted;
	sample->cwnd = flow->cwnd;
	sample->sent = tcp(sk)->data_segs_out;
	bpf_ringbuf_submit(sample, 0);
}

SEC("struct_ops")
void BPF_PROG(ap_init, struct sock *sk)
{
	begin(sk, CONTROL_AP);
}

SEC("struct_ops")
void BPF_PROG(ap_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct flow *flow = flow_of(sk);
	__u32 mss = tcp(sk)->mss_cache, rate, counts;
	__u64 payload = mss * 8000000ull / config.kbps;

	if (!flow)
		return;
	note(sk, flow, sample->rtt_us);
	counts = sample->rtt_us > 0 && flow->ca_state != TCP_CA_Loss &&
		  is_counted(flow->per_ack, sample->pkts_acked, tcp(sk)->delivered - SYN_AND_LAST);
	flow->per_ack = per_ack_with(flow->per_ack, sample->pkts_acked);
	if (!flow->has_delayed && flow->per_ack > SURELY_DELAYING) {
		/* What has been measured so far includes delays of ACKs. */
		flow->has_delayed = 1;
		__builtin_memset(&flow->pacer.history, 0, sizeof(flow->pacer.history));
	}
	if (counts) {
		pacer_sample(&flow->pacer, alone(sample->rtt_us, sample->pkts_acked, flow->hops, payload), flow->hops, payload);
		if (flow->pacer.gap) {
			rate = rate_of(mss, flow->pacer.gap);
			bpf_setsockopt(sk, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate));
		}
	}
	trace(sk, flow, sample->pkts_acked, counts);
}

SEC("struct_ops")
void BPF_PROG(ap_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct flow *flow = flow_of(sk);

	if (tcp(sk)->data_segs_out < UNPACED)
		return;
	tcp_reno_cong_avoid(sk, ack, acked);
	if (flow && flow->ca_state == TCP_CA_Open && tcp(sk)->snd_cwnd < WINDOW_FOR_PAIRS)
		tcp(sk)->snd_cwnd = WINDOW_FOR_PAIRS;
}

SEC("struct_ops")
void BPF_PROG(clamp_init, struct sock *sk)
{
	begin(sk, CONTROL_CLAMP);
}

SEC("struct_ops")
void BPF_PROG(clamp_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct flow *flow = flow_of(sk);

	if (!flow)
		return;
	note(sk, flow, sample->rtt_us);
	trace(sk, flow, sample->pkts_acked, 0);
}

SEC("struct_ops")
void BPF_PROG(clamp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct flow *flow = flow_of(sk);
	__u32 most = clamp_of(flow ? flow->hops : 0);

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tcp(sk)->snd_cwnd > most)
		tcp(sk)->snd_cwnd = most;
}

SEC("struct_ops")
void BPF_PROG(remember_state, struct sock *sk, __u8 new_state)
{
	struct flow *flow = flow_of(sk);

	if (flow)
		flow->ca_state = new_state;
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* How many segments leave together. A pair of them has its ACK at once, also from a receiver that delays ACKs; without
 * pairs the gaps would grow with the delay of ACKs, and ACKs would be delayed because of the gaps. */
SEC("struct_ops")
__u32 BPF_PROG(ap_together, struct sock *sk)
{
	struct flow *flow = flow_of(sk);

	return flow && is_paired(flow->per_ack, tcp(sk)->data_segs_out) ? 2 : 1;
}

/* Segments leave one by one, not in bursts. */
SEC("struct_ops")
__u32 BPF_PROG(one_segment, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops mh_ap = {
	.name = "mh_ap",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)ap_init,
	.pkts_acked = (void *)ap_acked,
	.cong_avoid = (void *)ap_cong_avoid,
	.set_state = (void *)remember_state,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.min_tso_segs = (void *)ap_together,
};

SEC(".struct_ops.link")
struct tcp_congestion_ops mh_clamp = {
	.name = "mh_clamp",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)clamp_init,
	.pkts_acked = (void *)clamp_acked,
	.cong_avoid = (void *)clamp_cong_avoid,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.min_tso_segs = (void *)one_segment,
};

/* Where the TTL is in a header of IPv4, and the hop limit in one of IPv6. */
#define TTL_AT 8
#define HOP_LIMIT_AT 7
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd

/* The length of the path of a connection, from each packet that arrives. Lets all packets pass. */
SEC("cgroup_skb/ingress")
int read_hops(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct flow *flow = sk ? bpf_sk_storage_get(&multihop_flows, sk, 0, 0) : 0;
	__u32 at = skb->protocol == bpf_htons(ETHERTYPE_IPV6) ? HOP_LIMIT_AT : TTL_AT;
	__u8 ttl;

	if (flow && bpf_skb_load_bytes(skb, at, &ttl, sizeof(ttl)) == 0)
		flow->hops = hops_of(ttl);
	return 1;
}

/* Connections of a cgroup use the control that the loader has named. Earlier the window would be overwritten. */
SEC("sockops")
int choose(struct bpf_sock_ops *ops)
{
	char name[sizeof(config.chosen)];

	if (ops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB || ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		for (unsigned int i = 0; i < sizeof(name); i++)
			name[i] = config.chosen[i];
		bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	}
	return 1;
}

struct bpf_iter__bpf_sk_storage_map {
	__bpf_md_ptr(struct bpf_iter_meta *, meta);
	__bpf_md_ptr(struct bpf_map *, map);
	__bpf_md_ptr(struct sock *, sk);
	__bpf_md_ptr(struct flow *, value);
};

/* Writes a record of each connection in a map like `multihop_flows`, of whichever network namespace. */
SEC("iter/bpf_sk_storage_map")
int list_flows(struct bpf_iter__bpf_sk_storage_map *context)
{
	struct sock *sk = context->sk;
	struct flow *flow = context->value;
	struct record record = {};

	if (!sk || !flow)
		return 0;
	record.family = sk->__sk_common.skc_family;
	record.local_port = sk->__sk_common.skc_num;
	record.remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	record.namespace = sk->__sk_common.skc_net.net->ns.inum;
	if (record.family == FAMILY_IPV4) {
		record.local[0] = sk->__sk_common.skc_rcv_saddr;
		record.remote[0] = sk->__sk_common.skc_daddr;
	} else {
		__builtin_memcpy(record.local, sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8, sizeof(record.local));
		__builtin_memcpy(record.remote, sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8, sizeof(record.remote));
	}
	record.control = flow->control;
	record.hops = flow->hops;
	record.rtt_us = flow->rtt_us;
	record.srtt_us = flow->srtt_us;
	record.cwnd = flow->cwnd;
	record.mss = flow->mss;
	record.cov = flow->pacer.cov;
	record.gap = flow->pacer.gap;
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	return 0;
}
