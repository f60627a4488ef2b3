/* Options of encrypted connections. The argument is the public key of the listener; the files are in this folder. */
#include "check.h"
#include <poll.h>
#include <unistd.h>

static const char *listeners_key;

static void set_text(int socket, int option, const char *text) {
    CHECK(tpa_setsockopt(socket, TPA_LEVEL, option, text, (socklen_t)strlen(text)) == 0);
}

/* A socket with this key and the file of the secret that both ends have. */
static int keyed(const char *identity, const char *shared) {
    int made = tpa_socket(AF_INET, SOCK_STREAM, 0);
    CHECK(made >= 0);
    set_text(made, TPA_IDENTITY, identity);
    set_text(made, TPA_SHARED_KEY, shared);
    return made;
}

static int keyed_listener(int silent, struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    int made = keyed("listener", "shared");
    set_text(made, TPA_AUTHORIZED_KEYS, "authorized_keys");
    CHECK(set(made, TPA_SILENT, silent) == 0);
    *address = loopback(0);
    CHECK(tpa_bind(made, (struct sockaddr *)address, sizeof *address) == 0);
    CHECK(tpa_listen(made, 4) == 0);
    CHECK(tpa_getsockopt(made, TPA_LEVEL, TPA_LOCAL_ADDRESS, address, &length) == 0);
    return made;
}

/* The errno of an attempt to connect; 0 if it succeeds, EAGAIN if there is no result for so many seconds. */
static int attempt_for(int seconds, int caller, const struct sockaddr_in *address) {
    int error = 0;
    socklen_t length = sizeof error;
    CHECK(set(caller, TPA_NONBLOCKING, 1) == 0);
    if (tpa_connect(caller, (const struct sockaddr *)address, sizeof *address) == -1 && errno != EINPROGRESS) {
        error = errno;
    } else {
        struct pollfd polled = {.fd = tpa_poll_fd(caller), .events = POLLOUT};
        CHECK(polled.fd >= 0);
        if (poll(&polled, 1, 1000 * seconds) == 1) {
            CHECK(tpa_getsockopt(caller, TPA_LEVEL, TPA_ERROR, &error, &length) == 0);
        } else {
            error = EAGAIN;
        }
    }
    CHECK(tpa_close(caller) == 0);
    return error;
}

static int attempt(int caller, const struct sockaddr_in *address) {
    return attempt_for(10, caller, address);
}

/* Whether a listener gives no answer: a refusal would arrive, and count after one second. */
static int is_ignored(int caller, const struct sockaddr_in *address) {
    return attempt_for(2, caller, address) == EAGAIN;
}

static int caller_with(const char *identity, const char *shared, const char *peer) {
    int made = keyed(identity, shared);
    set_text(made, TPA_PEER, peer);
    return made;
}

int main(int count, char **arguments) {
    struct sockaddr_in address;
    alarm(50);
    CHECK(count == 2);
    listeners_key = arguments[1];

    int listening = keyed_listener(0, &address);
    CHECK(attempt(caller_with("caller", "shared", listeners_key), &address) == 0);
    CHECK(attempt(caller_with("stranger", "shared", listeners_key), &address) == EACCES);
    CHECK(attempt(caller_with("caller", "other", listeners_key), &address) == ECONNREFUSED);

    int strict = keyed("caller", "shared");
    set_text(strict, TPA_KNOWN_PEERS, "known_peers");
    CHECK(set(strict, TPA_STRICT, 1) == 0);
    CHECK(attempt(strict, &address) == EACCES);
    int trusting = keyed("caller", "shared");
    set_text(trusting, TPA_KNOWN_PEERS, "known_peers");
    CHECK(attempt(trusting, &address) == 0);
    CHECK(tpa_close(listening) == 0);

    listening = keyed_listener(1, &address);
    CHECK(attempt(caller_with("caller", "shared", listeners_key), &address) == 0);
    CHECK(is_ignored(caller_with("stranger", "shared", listeners_key), &address));
    CHECK(is_ignored(caller_with("caller", "other", listeners_key), &address));
    CHECK(tpa_close(listening) == 0);

    /* Options that exclude each other. */
    int plain = plain_socket();
    CHECK(set(plain, TPA_SILENT, 1) == 0);
    CHECK(attempt(plain, &address) == EINVAL);
    return 0;
}
