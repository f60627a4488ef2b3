/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The control law of mesh as a filter, for a receiver whose clock is 67 min ahead. Each line of the input has a time in us,
 * how many segments an ACK covers for the first time (-1 for a timeout), the round trip of the newest in us, the hops,
 * whether more data waits, and the half segments of a train; the output has the time between two segments in ns, the window and the rate in millionths, and
 * how long to pause in us.
 */
#include <stdio.h>

#include "../../bpf/mesh_math.h"

int main(void)
{
	struct mesh mesh = { 0 };
	unsigned long long now;
	unsigned int us, hops, is_limited, halves;
	int arrived;

	while (scanf("%llu %d %u %u %u %u", &now, &arrived, &us, &hops, &is_limited, &halves) == 6) {
		unsigned long long pause;

		mesh.halves = halves;
		mesh_hops(&mesh, hops);
		if (arrived < 0)
			mesh_timeout(&mesh);
		else
			mesh_ack(&mesh, now, arrived, us, us + 4000000000u, is_limited);
		pause = mesh_drain(&mesh, now);
		printf("%llu %llu %llu %llu\n", (unsigned long long)mesh_gap(&mesh), (unsigned long long)mesh_window(&mesh),
		       (unsigned long long)mesh.rate, pause);
	}
	return 0;
}
