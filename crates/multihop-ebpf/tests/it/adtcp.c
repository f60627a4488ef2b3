/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * ADTCP as a filter. A line with a packet, `p`, has the time in ns, the ticks of its arrival, of its sending and of the echo,
 * its sequence number, its length and the number of segments; the output has the ranks of the four metrics, whether a
 * silence has ended, the state, and the round trip in ns. A line with a loss, `l`, has a state, whether it is a timeout,
 * window and threshold; the output has what is kept of both.
 */
#include <stdio.h>

#include "../../bpf/adtcp_math.h"

int main(void)
{
	struct meter meter = { 0 };
	char kind;

	while (scanf(" %c", &kind) == 1) {
		if (kind == 'p') {
			struct packet packet;
			unsigned long long now;

			if (scanf("%llu %u %u %u %u %u %u", &now, &packet.arrived, &packet.sent, &packet.echo, &packet.seq,
				  &packet.length, &packet.segments) != 7)
				return 1;
			packet.now_ns = now;
			meter_packet(&meter, &packet);
			printf("%u %u %u %u %u %u %llu\n", meter.idd_level, meter.stt_level, meter.por_level, meter.plr_level,
			       meter.is_silent, meter_state(&meter), (unsigned long long)meter.rtt);
		} else {
			struct window window;
			unsigned int state, is_timeout;

			if (scanf("%u %u %u %u", &state, &is_timeout, &window.window, &window.threshold) != 4)
				return 1;
			window = window_kept(state, is_timeout, window);
			printf("%u %u\n", window.window, window.threshold);
		}
	}
	return 0;
}
