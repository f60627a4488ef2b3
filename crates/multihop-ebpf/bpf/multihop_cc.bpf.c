// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Congestion controls for multi-hop networks in the TCP of Linux:
 *
 *   mh_ap     adaptive pacing (TCP-AP): Reno's window, and a gap after each segment
 *   mh_clamp  Reno's window, limited to a quarter of the hops
 *   mh_mesh   the control law of mesh: a rate, from the delay in queues, and trains over radios that aggregate
 *   mh_adtcp  ADTCP: NewReno, but a window that stays after losses for which the receiver sees no congestion
 *
 * How they differ from the policies of the simulator (crates/multihop-transport):
 *
 *   - The kernel paces only from the tenth data segment on; until then the window of mh_ap and mh_mesh is one segment.
 *   - Round trips are those that the kernel measures, in microseconds, of the last segment that an ACK covers.
 *   - To a receiver that delays ACKs, mh_ap and mh_mesh send two segments so that the second arrives while the receiver
 *     holds the ACK of the first, and then wait the longer. ACKs of one segment do not count then.
 *   - The length of the path is that of the way back, from the TTL of what arrives.
 *   - mh_mesh knows the delay of data of the last segment that an ACK covers, by the time stamp of the ACK, which has
 *     ticks of 1 ms; the mesh of the simulator knows that of each segment. Without time stamps it takes round trips.
 *   - mh_mesh has one ACK for two segments, not for eight. It gets no notices, and cannot send probes: a silence ends
 *     with the kernel's timer. It has no rules for wires.
 *   - mh_mesh finds radios that aggregate by ACKs that arrive together, whereas the receiver of mesh counts segments. It then sends a
 *     window of one train or more without a pace. A train begins when three quarters of it have room.
 *   - The window of mh_ap is at most what its pace has on the way and three segments.
 *   - Without trains mh_mesh keeps the window at what the law wants, and three segments for ACKs that are still to come. After losses the
 *     kernel brings it back to that; the rate does not follow losses.
 *   - mh_adtcp measures at both ends of a connection that use it. Clocks have ticks of 1 ms. A loss is what the kernel takes
 *     for one, not the third duplicate ACK. There is no stand-by: after a timeout the kernel retransmits and backs off, and
 *     the window returns with the first ACK.
 *
 * Loss recovery, timers and the handshake are the kernel's.
 */
#include "kern.h"

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
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct meter);
} multihop_meters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} samples SEC(".maps");

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* Data segments that the kernel does not pace, whatever their rate. They leave one by one, each after the ACK of the last. */
#define UNPACED 10
#define UNPACED_WINDOW 1
/* Segments above what the pace has on the way. At times Linux sends half of the window together without asking how many may
 * leave, so that the window must not be larger than needed. */
#define AWAITED 3

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

	if (flow) {
		flow->control = control;
		flow->delivered = tcp(sk)->delivered;
		flow->una = tcp(sk)->snd_una;
	}
}

static __always_inline void begin_paced(struct sock *sk, __u32 control)
{
	begin(sk, control);
	tcp(sk)->snd_cwnd = UNPACED_WINDOW;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Whether mh_mesh sends trains. In the start each segment leaves alone. */
static __always_inline int uses_trains(const struct flow *flow)
{
	return flow->mesh.rate && trains_have_several(&flow->trains);
}

/* The gap after a segment of mh_mesh, which is `gap` on average, ns. ACKs decide when trains leave. */
static __always_inline __u64 mesh_spaced(const struct flow *flow, __u32 number, __u64 gap)
{
	__u32 of_probe = number - flow->probe;

	if (uses_trains(flow) || of_probe < PROBE - 1)
		return 0;
	return of_probe == PROBE - 1 ? PROBE * gap : gap;
}

/* Has the kernel wait after the segment that is about to leave. With each ACK the kernel sets a rate of its own, so that it is
 * the one of now that counts. */
static __always_inline void pace(struct sock *sk, const struct flow *flow)
{
	struct tcp_sock *tp = tcp(sk);
	__u64 late = tp->tcp_clock_cache > tp->tcp_wstamp_ns ? tp->tcp_clock_cache - tp->tcp_wstamp_ns : 0;
	__u32 number = tp->data_segs_out, is_held = flow->has_delayed || is_delaying(flow->per_ack);
	__u64 gap = mesh_spaced(flow, number, gap_after(flow->gap, number, is_held)) + (number == flow->pause_after ? flow->pause : 0);
	__u64 rate = rate_of(tp->mss_cache, gap, late);

	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
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
	sample->gap = flow->gap;
	sample->delay = flow->control == CONTROL_MESH ? flow->mesh.queueing : flow->pacer.delay;
	sample->port = sk->__sk_common.skc_num;
	sample->hops = flow->hops;
	sample->rtt_us = flow->rtt_us;
	sample->cov = flow->pacer.cov;
	sample->acked = acked;
	sample->is_counted = is_counted;
	sample->cwnd = flow->cwnd;
	sample->sent = tcp(sk)->data_segs_out;
	sample->told = flow->adtcp.received.newest;
	sample->losses = flow->adtcp.losses;
	sample->kept = flow->adtcp.kept;
	sample->pad = 0;
	bpf_ringbuf_submit(sample, 0);
}

SEC("struct_ops")
void BPF_PROG(ap_init, struct sock *sk)
{
	begin_paced(sk, CONTROL_AP);
}

SEC("struct_ops")
void BPF_PROG(ap_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct flow *flow = flow_of(sk);
	__u64 payload = tcp(sk)->mss_cache * 8000000ull / config.kbps;
	__u32 counts;

	if (!flow)
		return;
	note(sk, flow, sample->rtt_us);
	counts = sample->rtt_us > 0 && flow->ca_state != TCP_CA_Loss && is_counted(flow->per_ack, sample->pkts_acked);
	flow->per_ack = per_ack_with(flow->per_ack, sample->pkts_acked);
	if (!flow->has_delayed && flow->per_ack > SURELY_DELAYING) {
		/* What has been measured so far includes delays of ACKs. */
		flow->has_delayed = 1;
		__builtin_memset(&flow->pacer.history, 0, sizeof(flow->pacer.history));
	}
	if (counts) {
		pacer_sample(&flow->pacer, sample->rtt_us, flow->hops, payload);
		flow->gap = flow->pacer.gap;
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
	if (flow && flow->gap)
		tcp(sk)->snd_cwnd = least(tcp(sk)->snd_cwnd, flow->srtt_us * 1000ull / flow->gap + AWAITED);
}

SEC("struct_ops")
void BPF_PROG(clamp_init, struct sock *sk)
{
	begin(sk, CONTROL_CLAMP);
	tcp(sk)->snd_cwnd = UNPACED_WINDOW;
}

SEC("struct_ops")
void BPF_PROG(noted_acked, struct sock *sk, const struct ack_sample *sample)
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
void BPF_PROG(mesh_init, struct sock *sk)
{
	begin_paced(sk, CONTROL_MESH);
}

/* When the other end sent this ACK less when the last segment that it covers left, us. Without its clock, the round trip. */
static __always_inline __u32 delay_of_data(const struct tcp_sock *tp, struct flow *flow, __u64 now_us, __u32 rtt_us)
{
	__u32 tick = tp->rx_opt.rcv_tsval, ms = now_us / 1000, passed;
	__s32 apart;

	if (!flow->first_ms) {
		flow->first_ms = ms;
		flow->first_tick = tick;
	}
	passed = ms - flow->first_ms;
	apart = tick - flow->first_tick - passed;
	if (!flow->is_odd && (tick == 0 || (apart < 0 ? -apart : apart) > passed / 256 + 1000)) {
		flow->is_odd = 1;
		flow->mesh.delays.began = 0;
	}
	return flow->is_odd ? rtt_us : tick * 1000 - (now_us - rtt_us);
}

SEC("struct_ops")
void BPF_PROG(mesh_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct flow *flow = flow_of(sk);
	struct tcp_sock *tp = tcp(sk);
	__u64 now = bpf_ktime_get_ns() / 1000, pause;
	__u32 counts;

	if (!flow)
		return;
	note(sk, flow, sample->rtt_us);
	/* Short segments travel faster. */
	counts = sample->rtt_us > 0 && flow->ca_state != TCP_CA_Loss && is_counted(flow->per_ack, sample->pkts_acked) &&
		 tp->snd_una - flow->una >= tp->mss_cache * sample->pkts_acked;
	flow->una = tp->snd_una;
	flow->per_ack = per_ack_with(flow->per_ack, sample->pkts_acked);
	flow->has_delayed |= flow->per_ack > SURELY_DELAYING;
	if (flow->hops != flow->mesh.hops)
		trains_new_path(&flow->trains);
	trains_ack(&flow->trains, now, sample->pkts_acked, counts ? sample->rtt_us : 0);
	if (flow->trains.run.acks == 1)
		flow->is_leaving = 0;
	flow->mesh.halves = flow->trains.halves;
	if (counts) {
		mesh_hops(&flow->mesh, flow->hops);
		mesh_ack(&flow->mesh, now, tp->delivered - flow->delivered, sample->rtt_us,
			 delay_of_data(tp, flow, now, sample->rtt_us),
			 tp->data_segs_out >= UNPACED && tp->write_seq - tp->snd_nxt >= tp->mss_cache);
		flow->delivered = tp->delivered;
		flow->gap = mesh_gap(&flow->mesh);
		pause = mesh_drain(&flow->mesh, now);
		if (pause) {
			flow->pause = pause * 1000;
			flow->pause_after = tp->data_segs_out;
		}
	}
	if (flow->trains.is_probing && flow->mesh.rate) {
		flow->probe = tp->data_segs_out;
		flow->trains.is_probing = 0;
	}
	trace(sk, flow, sample->pkts_acked, counts);
}

/* Largest number of segments in flight. */
static __always_inline __u32 mesh_limit(const struct flow *flow)
{
	__u32 window = (mesh_window(&flow->mesh) + MILLION - 1) / MILLION, train = flow->trains.halves / 2;

	if (!uses_trains(flow))
		return window + AWAITED;
	window = largest(window, train);
	return trains_fill_the_path(&flow->trains) && train ? window - window % train : window;
}

/* The window that lets a train begin when there is room for three quarters of it: a missing segment does not hold it up. Half of
 * it, as in the simulator, would let each half of a train that has come apart begin the next one: a receiver of TCP acknowledges
 * both. */
static __always_inline __u32 mesh_room(const struct tcp_sock *tp, struct flow *flow)
{
	__u32 limit = mesh_limit(flow), in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;

	/* Several segments of one buffer would wait for a pause each. */
	if (flow->pause && tp->data_segs_out == flow->pause_after)
		return in_flight + 1;
	if (!uses_trains(flow) || flow->is_leaving || in_flight == 0)
		return limit;
	flow->is_leaving = in_flight + (flow->trains.halves * 3 + 7) / 8 <= limit;
	return flow->is_leaving ? limit : in_flight;
}

SEC("struct_ops")
void BPF_PROG(mesh_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct flow *flow = flow_of(sk);
	__u32 window;

	if (!flow || tcp(sk)->data_segs_out < UNPACED)
		return;
	window = mesh_room(tcp(sk), flow);
	/* After a timeout the kernel begins with one. */
	tcp(sk)->snd_cwnd = flow->ca_state == TCP_CA_Loss ? least(window, tcp(sk)->snd_cwnd + acked) : window;
}

/* A loss says nothing about the window. */
SEC("struct_ops")
__u32 BPF_PROG(mesh_ssthresh, struct sock *sk)
{
	struct flow *flow = flow_of(sk);

	return flow && uses_trains(flow) ? mesh_limit(flow) : tcp(sk)->snd_cwnd;
}

SEC("struct_ops")
void BPF_PROG(mesh_state, struct sock *sk, __u8 new_state)
{
	struct flow *flow = flow_of(sk);

	if (!flow)
		return;
	flow->ca_state = new_state;
	if (new_state == TCP_CA_Loss) {
		mesh_timeout(&flow->mesh);
		flow->gap = mesh_gap(&flow->mesh);
	}
}

SEC("struct_ops")
void BPF_PROG(remember_state, struct sock *sk, __u8 new_state)
{
	struct flow *flow = flow_of(sk);

	if (flow)
		flow->ca_state = new_state;
}

SEC("struct_ops")
void BPF_PROG(adtcp_init, struct sock *sk)
{
	begin(sk, CONTROL_ADTCP);
	bpf_sk_storage_get(&multihop_meters, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

SEC("struct_ops")
__u32 BPF_PROG(adtcp_ssthresh, struct sock *sk)
{
	struct flow *flow = flow_of(sk);
	__u32 halved = tcp_reno_ssthresh(sk);

	if (flow) {
		flow->before.window = tcp(sk)->snd_cwnd;
		flow->before.threshold = tcp(sk)->snd_ssthresh;
		flow->halved = halved;
	}
	return halved;
}

/* Recovery, or what follows a timeout, begins or ends. */
SEC("struct_ops")
void BPF_PROG(adtcp_state, struct sock *sk, __u8 new_state)
{
	struct flow *flow = flow_of(sk);
	struct adtcp *adtcp;

	if (!flow)
		return;
	adtcp = &flow->adtcp;
	if (new_state != TCP_CA_Recovery && new_state != TCP_CA_Loss) {
		flow->before.window = 0;
		/* Recovery ends with an event; whatever else is over restores nothing. */
		if (flow->ca_state != TCP_CA_Recovery)
			flow->kept.window = 0;
	} else if (flow->before.window) {
		flow->kept = window_kept(adtcp->received.newest, new_state == TCP_CA_Loss, flow->before);
		if (!adtcp->received.all)
			flow->kept.window = 0;
		tcp(sk)->snd_ssthresh = flow->kept.window ? flow->kept.window : flow->halved;
		if (new_state != flow->ca_state) {
			adtcp->losses++;
			adtcp->kept += flow->kept.window > 0;
		}
	}
	flow->ca_state = new_state;
}

static __always_inline void restore(struct sock *sk, struct flow *flow)
{
	tcp(sk)->snd_cwnd = flow->kept.window;
	tcp(sk)->snd_ssthresh = flow->kept.threshold;
	flow->kept.window = 0;
}

/* The end of recovery: the kernel has taken the threshold for the window. */
SEC("struct_ops")
void BPF_PROG(adtcp_event, struct sock *sk, __u32 event)
{
	struct flow *flow = flow_of(sk);

	if (flow && event == CA_EVENT_COMPLETE_CWR && flow->kept.window)
		restore(sk, flow);
}

/* The first ACK of new data after a timeout tells that the path is back. */
SEC("struct_ops")
void BPF_PROG(adtcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct flow *flow = flow_of(sk);

	if (flow && flow->ca_state == TCP_CA_Loss && flow->kept.window)
		restore(sk, flow);
	else
		tcp_reno_cong_avoid(sk, ack, acked);
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

/* Called before segments leave, to ask how many leave together. */
SEC("struct_ops")
__u32 BPF_PROG(paced_segment, struct sock *sk)
{
	struct flow *flow = flow_of(sk);

	if (flow && flow->gap)
		pace(sk, flow);
	return 1;
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
	.min_tso_segs = (void *)paced_segment,
};

SEC(".struct_ops.link")
struct tcp_congestion_ops mh_clamp = {
	.name = "mh_clamp",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)clamp_init,
	.pkts_acked = (void *)noted_acked,
	.cong_avoid = (void *)clamp_cong_avoid,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.min_tso_segs = (void *)one_segment,
};

SEC(".struct_ops.link")
struct tcp_congestion_ops mh_mesh = {
	.name = "mh_mesh",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)mesh_init,
	.pkts_acked = (void *)mesh_acked,
	.cong_avoid = (void *)mesh_cong_avoid,
	.set_state = (void *)mesh_state,
	.ssthresh = (void *)mesh_ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.min_tso_segs = (void *)paced_segment,
};

SEC(".struct_ops.link")
struct tcp_congestion_ops mh_adtcp = {
	.name = "mh_adtcp",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)adtcp_init,
	.pkts_acked = (void *)noted_acked,
	.cong_avoid = (void *)adtcp_cong_avoid,
	.set_state = (void *)adtcp_state,
	.cwnd_event = (void *)adtcp_event,
	.ssthresh = (void *)adtcp_ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.min_tso_segs = (void *)one_segment,
};

/* Where the TTL is in a header of IPv4, and the hop limit in one of IPv6. */
#define TTL_AT 8
#define HOP_LIMIT_AT 7
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd

#define PROTOCOL_TCP 6
#define NEXT_HEADER_AT 6
#define IPV6_HEADER 40
#define FLAG_SYN 2
#define OPTION_NOP 1
#define OPTION_TIMESTAMPS 8

/* A header of TCP as the kernel writes it in a connection with time stamps. */
struct stamped {
	__u16 ports[2];
	__u32 seq;
	__u32 ack;
	/* The length of the header, in words of 4 bytes, is in the upper half. */
	__u8 offset;
	__u8 flags;
	__u16 window;
	__u16 checksum;
	__u16 urgent;
	__u8 padding[2];
	__u8 kind;
	__u8 kind_length;
	__u32 value;
	__u32 echo;
};

static __always_inline int has_stamps(const struct stamped *tcp)
{
	return tcp->offset >> 4 >= sizeof(*tcp) / 4 && tcp->padding[0] == OPTION_NOP && tcp->padding[1] == OPTION_NOP &&
	       tcp->kind == OPTION_TIMESTAMPS;
}

/* Where the header of TCP begins; 0 if other headers of IPv6 are before it. */
static __always_inline __u32 tcp_begins(struct __sk_buff *skb)
{
	__u8 byte = 0;

	if (skb->protocol == bpf_htons(ETHERTYPE_IPV6)) {
		bpf_skb_load_bytes(skb, NEXT_HEADER_AT, &byte, sizeof(byte));
		return byte == PROTOCOL_TCP ? IPV6_HEADER : 0;
	}
	bpf_skb_load_bytes(skb, 0, &byte, sizeof(byte));
	return (byte & 15) * 4;
}

/* Takes a packet into the metrics of ADTCP's receiver, if it has data and time stamps. */
static __always_inline void measure(struct __sk_buff *skb, struct bpf_sock *sk)
{
	struct meter *meter = bpf_sk_storage_get(&multihop_meters, sk, 0, 0);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	__u32 at = tcp_begins(skb), headers;
	struct packet packet = {};
	struct stamped tcp;

	if (!meter || !tp || !at || bpf_skb_load_bytes(skb, at, &tcp, sizeof(tcp)) || !has_stamps(&tcp))
		return;
	headers = at + (tcp.offset >> 4) * 4;
	if (skb->len <= headers || tcp.flags & FLAG_SYN)
		return;
	packet.now_ns = bpf_ktime_get_ns();
	packet.arrived = packet.now_ns / TICK_NS + tp->tsoffset;
	packet.sent = bpf_ntohl(tcp.value);
	packet.echo = bpf_ntohl(tcp.echo);
	packet.seq = bpf_ntohl(tcp.seq);
	packet.length = skb->len - headers;
	packet.segments = skb->gso_segs ? skb->gso_segs : 1;
	meter_packet(meter, &packet);
}

/* What a connection learns from each packet that arrives: the length of its path, and ADTCP's metrics. Lets all packets
 * pass. */
SEC("cgroup_skb/ingress")
int read_packets(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct flow *flow = sk ? bpf_sk_storage_get(&multihop_flows, sk, 0, 0) : 0;
	__u32 at = skb->protocol == bpf_htons(ETHERTYPE_IPV6) ? HOP_LIMIT_AT : TTL_AT;
	__u8 ttl;

	if (!flow)
		return 1;
	if (bpf_skb_load_bytes(skb, at, &ttl, sizeof(ttl)) == 0)
		flow->hops = hops_of(ttl);
	if (flow->control == CONTROL_ADTCP)
		measure(skb, sk);
	return 1;
}

/* The option that carries a state: one for experiments, with an identifier (RFC 6994). */
#define OPTION_EXPERIMENT 253
#define IDENTIFIER 0xad7c
/* With padding. */
#define OPTION_SPACE 8

struct state_option {
	__u8 kind;
	__u8 length;
	__u8 identifier[2];
	__u8 state;
};

static __always_inline struct state_option option_of(__u32 state)
{
	struct state_option option = { OPTION_EXPERIMENT, sizeof(option), { IDENTIFIER >> 8, IDENTIFIER & 255 }, state };

	return option;
}

static __always_inline void count_report(struct reports *reports, __u32 state)
{
	reports->all++;
	reports->congestion += state & STATE_CONGESTION ? 1 : 0;
	reports->route_change += state & STATE_ROUTE_CHANGE ? 1 : 0;
	reports->channel_error += state & STATE_CHANNEL_ERROR ? 1 : 0;
	reports->disconnection += state & STATE_DISCONNECTION ? 1 : 0;
	reports->newest = state;
}

/* The metrics of a connection that has received data. */
static __always_inline struct meter *meter_of(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct meter *meter = sk ? bpf_sk_storage_get(&multihop_meters, sk, 0, 0) : 0;

	return meter && meter->has_last ? meter : 0;
}

static __always_inline void write_state(struct bpf_sock_ops *ops)
{
	struct flow *flow = ops->sk ? bpf_sk_storage_get(&multihop_flows, ops->sk, 0, 0) : 0;
	struct meter *meter = meter_of(ops);
	struct state_option option;

	if (!flow || !meter)
		return;
	option = option_of(meter_state(meter));
	if (bpf_store_hdr_opt(ops, &option, sizeof(option), 0) == 0)
		count_report(&flow->adtcp.returned, option.state);
}

static __always_inline void read_state(struct bpf_sock_ops *ops)
{
	struct flow *flow = ops->sk ? bpf_sk_storage_get(&multihop_flows, ops->sk, 0, 0) : 0;
	struct state_option option = option_of(0);
	struct stamped *tcp = ops->skb_data;

	if (!flow || (void *)(tcp + 1) > ops->skb_data_end || !has_stamps(tcp))
		return;
	/* One that a newer has overtaken does not count. */
	if (is_after(ops->snd_una, bpf_ntohl(tcp->ack)) ||
	    (flow->adtcp.received.all && is_after(flow->told_at, bpf_ntohl(tcp->value))))
		return;
	/* The search is for the kind and the identifier. */
	option.length = 4;
	if (bpf_load_hdr_opt(ops, &option, sizeof(option), 0) != sizeof(option))
		return;
	flow->told_at = bpf_ntohl(tcp->value);
	count_report(&flow->adtcp.received, option.state & 15);
}

/* Requests calls for the options of a connection that uses ADTCP, whose names all begin alike. A control itself can do so only in
 * kernels later than 6.1. */
static __always_inline void request_options(struct bpf_sock_ops *ops)
{
	__u64 name[2] = {};

	bpf_getsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	if (name[0] == ADTCP_NAME)
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | OPTION_CALLS);
}

/* States of the network leave in segments that have room for them, and are taken from those that arrive. */
SEC("sockops")
int report(struct bpf_sock_ops *ops)
{
	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		request_options(ops);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		/* Not in what the kernel asks to find out how much data a segment can have. */
		if (ops->args[0] == 0 && meter_of(ops) && ops->skb_len + OPTION_SPACE <= ops->mss_cache)
			bpf_reserve_hdr_opt(ops, sizeof(struct state_option), 0);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		write_state(ops);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		read_state(ops);
		break;
	}
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
	record.gap = flow->gap;
	record.adtcp = flow->adtcp;
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	return 0;
}
