/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The arithmetic of the controls as a filter. Each line of the input is a round trip in us and the hops; the output has
 * the variation in millionths, the delay and the gap in ns, and the rate.
 */
#include <stdio.h>

#include "../../bpf/cc_math.h"

int main(void)
{
	struct pacer pacer = { 0 };
	unsigned int us, hops;

	while (scanf("%u %u", &us, &hops) == 2) {
		pacer_sample(&pacer, us, hops, 1448 * 8000000ull / 2000);
		printf("%u %llu %llu %u\n", pacer.cov, (unsigned long long)pacer.delay, (unsigned long long)pacer.gap,
		       rate_of(1448, pacer.gap));
	}
	return 0;
}
