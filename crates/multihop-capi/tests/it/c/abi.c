/* What the header says, for the test to compare with the library. */
#include <stdio.h>
#include <tpa.h>

#define SHOW(name) printf(#name " %zu\n", (size_t)(name))

int main(void) {
    SHOW(TPA_LEVEL);
    SHOW(TPA_PLAIN);
    SHOW(TPA_TOKEN);
    SHOW(TPA_IDENTITY);
    SHOW(TPA_PEER);
    SHOW(TPA_KNOWN_PEERS);
    SHOW(TPA_NONBLOCKING);
    SHOW(TPA_LINGER);
    SHOW(TPA_CWND_MAX);
    SHOW(TPA_AUTHORIZED_KEYS);
    SHOW(TPA_STRICT);
    SHOW(TPA_SHARED_KEY);
    SHOW(TPA_SILENT);
    SHOW(TPA_ERROR);
    SHOW(TPA_ERROR_TEXT);
    SHOW(TPA_STATS);
    SHOW(TPA_LOCAL_ADDRESS);
    SHOW(TPA_PEER_ADDRESS);
    SHOW(TPA_PEER_KEY);
    SHOW(sizeof(struct tpa_stats));
    if (tpa_close(0) != -1) {
        return 1;
    }
    return 0;
}
