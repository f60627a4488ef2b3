/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The arithmetic of the controls as a filter. Each line of the input is a round trip in us, the hops, and the segments
 * that its ACK covers; the output has the variation in millionths, the delay and the gap in ns, the rate, whether the ACK
 * was held, the gap in ns that Linux makes after a segment that was late by the round trip, and the sum in ns of 1024
 * gaps to a receiver that delays ACKs, and to one that may.
 */
#include <stdio.h>

#include "../../bpf/cc_math.h"

/* What Linux waits after a segment (tcp_update_skb_after_send). */
static unsigned long long made(unsigned long long rate, unsigned long long late)
{
	unsigned long long wait = 1448 * 1000000000ull / rate;

	return wait - (late < wait / 2 ? late : wait / 2);
}

static unsigned long long sum(unsigned long long gap, int has_delayed)
{
	unsigned long long all = 0;

	for (unsigned int number = 1024; number < 2048; number++)
		all += gap_after(gap, number, has_delayed);
	return all;
}

int main(void)
{
	struct pacer pacer = { 0 };
	unsigned int us, hops, acked, per_ack = 0;
	const unsigned long long payload = 1448 * 8000000ull / 2000;

	while (scanf("%u %u %u", &us, &hops, &acked) == 3) {
		int held = !is_counted(per_ack, acked);

		per_ack = per_ack_with(per_ack, acked);
		pacer_sample(&pacer, us, hops, payload);
		printf("%u %llu %llu %llu %d %llu %llu %llu\n", pacer.cov, (unsigned long long)pacer.delay,
		       (unsigned long long)pacer.gap, (unsigned long long)rate_of(1448, pacer.gap, 0), held,
		       made(rate_of(1448, pacer.gap, us * 1000ull), us * 1000ull), sum(pacer.gap, 1), sum(pacer.gap, 0));
	}
	return 0;
}
