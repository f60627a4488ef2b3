/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The arithmetic of the controls as a filter. Each line of the input is a round trip in us, the hops, and the segments
 * that its ACK covers; the output has the variation in millionths, the delay and the gap in ns, the rate, the round trip
 * of one segment alone in us, and whether the ACK was held.
 */
#include <stdio.h>

#include "../../bpf/cc_math.h"

int main(void)
{
	struct pacer pacer = { 0 };
	unsigned int us, hops, acked, per_ack = 0;
	const unsigned long long payload = 1448 * 8000000ull / 2000;

	while (scanf("%u %u %u", &us, &hops, &acked) == 3) {
		unsigned int one = alone(us, acked, hops, payload);
		int held = !is_counted(per_ack, acked, 1000);

		per_ack = per_ack_with(per_ack, acked);
		pacer_sample(&pacer, one, hops, payload);
		printf("%u %llu %llu %u %u %d\n", pacer.cov, (unsigned long long)pacer.delay,
		       (unsigned long long)pacer.gap, rate_of(1448, pacer.gap), one, held);
	}
	return 0;
}
