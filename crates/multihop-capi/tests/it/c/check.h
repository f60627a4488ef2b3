/* What the test programs share. */
#ifndef CHECK_H
#define CHECK_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tpa.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "line %d: not so: %s (errno: %s)\n", __LINE__, #what, strerror(errno)); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define FAILS(call, error)      \
    do {                        \
        errno = 0;              \
        CHECK((call) == -1);    \
        CHECK(errno == (error)); \
    } while (0)

static inline struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static inline int set(int socket, int option, int value) {
    return tpa_setsockopt(socket, TPA_LEVEL, option, &value, sizeof value);
}

static inline int plain_socket(void) {
    int made = tpa_socket(AF_INET, SOCK_STREAM, 0);
    CHECK(made >= 0);
    CHECK(set(made, TPA_PLAIN, 1) == 0);
    return made;
}

/* A listener and its address. */
static inline int listener(struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    int made = plain_socket();
    *address = loopback(0);
    CHECK(tpa_bind(made, (struct sockaddr *)address, sizeof *address) == 0);
    CHECK(tpa_listen(made, 4) == 0);
    CHECK(tpa_getsockopt(made, TPA_LEVEL, TPA_LOCAL_ADDRESS, address, &length) == 0);
    CHECK(length == sizeof *address && address->sin_port != 0);
    return made;
}

#endif
