/* Messages with priority and deadline over one connection of `mesh`, for C. Link with -ltpa.
 *
 * A connection has any number of channels. Messages of priority 0 leave first, those of 7 last; a message whose deadline
 * cannot be kept is not sent, and its receiver gets a gap. Every call that fails returns -1 and sets errno; the text of
 * the last failure of the thread is multihop_error(). Handles are numbers of this library, not descriptors. Calls may
 * block, and several threads may use one handle. After fork only the parent can use the library. */
#ifndef MULTIHOP_H
#define MULTIHOP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exactly one of token, identity and plain must be set; the rest may be NULL or 0. */
struct multihop_security {
    const char *token;           /* secret that both ends share */
    const char *identity;        /* path of the private key, from `multihop keygen` */
    const char *peer;            /* with identity: public key that the peer must have, or "any" */
    const char *known_peers;     /* with identity, to connect: path of the file of known peers */
    const char *authorized_keys; /* with identity, to listen: path of the file of authorised keys */
    const char *shared_key;      /* with identity: path of a further secret of both ends */
    int plain;                   /* not 0: no protection */
    int strict;                  /* not 0: refuse a peer that is not among known_peers */
    int silent;                  /* not 0: to listen: do not answer anybody without the token or an authorised key */
};

/* Options of a channel, which its opener chooses for both directions. */
struct multihop_channel {
    uint32_t priority;    /* 0, sent first, to 7 */
    uint32_t ordered;     /* not 0: messages arrive in their order; 0: each when it is complete */
    uint32_t deadline_ms; /* 0: reliable; otherwise time after which a message is worthless, at most one day */
    char name[36];        /* at most 32 visible ASCII characters and a zero */
};

/* What multihop_receive has received. */
struct multihop_message {
    uint64_t number;  /* of the message, from 0; of a gap, that of its first message */
    uint64_t missed;  /* not 0: a gap of this many messages that the peer has given up; there is no data */
    uint64_t offset;  /* place of the data in the message: more than 0 in later parts of a message */
    uint64_t length;  /* bytes stored */
    uint32_t is_last; /* not 0: the message ends here; 0: the next call continues it */
    uint32_t is_late; /* not 0: the deadline has passed */
};

/* Connects to a listener by IP address; returns the connection. */
int multihop_connect(const char *address, uint16_t port, const struct multihop_security *security);

/* Listens at an IP address; port 0 takes a free one, which multihop_port returns. Returns the listener. */
int multihop_listen(const char *address, uint16_t port, const struct multihop_security *security);
int multihop_port(int listener);

/* Waits for the next connection, at most timeout_ms (negative: without end; then errno is EAGAIN). */
int multihop_accept(int listener, int timeout_ms);

/* Opens a channel; returns it. */
int multihop_open_channel(int connection, const struct multihop_channel *options);

/* Waits for the next channel that the peer opens, and stores its options unless the pointer is NULL. Fails with EPIPE
 * when the peer has closed. */
int multihop_accept_channel(int connection, struct multihop_channel *options, int timeout_ms);

/* Queues a message; waits while the channel is full. */
int multihop_send(int channel, const void *data, size_t length);

/* Receives a message, a part of one, or a gap: 1; after the peer has closed: 0. */
int multihop_receive(int channel, void *data, size_t room, struct multihop_message *about, int timeout_ms);

/* Closes a handle. A connection waits up to a minute until the peer has all messages; messages that the peer has sent and
 * nobody has received are lost. */
int multihop_close(int handle);

/* Text of the last failure of this thread, until its next failure. */
const char *multihop_error(void);

#ifdef __cplusplus
}
#endif
#endif
