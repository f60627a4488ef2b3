/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Trains of mesh as a filter. Each line of the input has the time of an ACK in us, how many segments it covers for the first time,
 * and the round trip of the newest in us, 0 if it does not count. The output has the half segments of a train, whether a probe
 * is due, and whether one train fills the path.
 */
#include <stdio.h>

#include "../../bpf/trains_math.h"

int main(void)
{
	struct trains trains = { 0 };
	unsigned long long now;
	unsigned int arrived, us;

	while (scanf("%llu %u %u", &now, &arrived, &us) == 3) {
		trains_ack(&trains, now, arrived, us);
		printf("%u %u %d\n", trains.halves, trains.is_probing, trains_fill_the_path(&trains));
		trains.is_probing = 0;
	}
	return 0;
}
