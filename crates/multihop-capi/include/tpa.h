/* TPA, a reliable transport for multi-hop wireless networks, with the calls of BSD sockets.
 * The manual is tpa(3). */
#ifndef TPA_H
#define TPA_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every call returns -1 and sets errno when it fails. A TPA socket is a number of this library, not a
 * descriptor: only these calls accept it. */
int tpa_socket(int domain, int type, int protocol);
int tpa_bind(int socket, const struct sockaddr *address, socklen_t length);
int tpa_connect(int socket, const struct sockaddr *address, socklen_t length);
int tpa_listen(int socket, int backlog);
int tpa_accept(int socket, struct sockaddr *address, socklen_t *length);
ssize_t tpa_send(int socket, const void *data, size_t length, int flags);
ssize_t tpa_recv(int socket, void *data, size_t length, int flags);
int tpa_shutdown(int socket, int how);
int tpa_close(int socket);

/* The descriptor to poll for a socket. It changes after tpa_listen and when a connection is established. */
int tpa_poll_fd(int socket);

/* Options; their level is TPA_LEVEL. */
int tpa_setsockopt(int socket, int level, int option, const void *value, socklen_t length);
int tpa_getsockopt(int socket, int level, int option, void *value, socklen_t *length);

#define TPA_LEVEL 253

/* Security: one of the first three must be set before tpa_connect or tpa_listen. */
#define TPA_PLAIN 1       /* int: not 0: the plain protocol, which anybody can read and modify */
#define TPA_TOKEN 2       /* text: the shared secret */
#define TPA_IDENTITY 3    /* text: path of the private key, from `multihop keygen` */
#define TPA_PEER 4        /* text: with a key: the public key that the peer must have, or "any" */
#define TPA_KNOWN_PEERS 5 /* text: with a key, to connect: path of the file of known peers */
#define TPA_AUTHORIZED_KEYS 9 /* text: with a key, to listen: path of the file of authorised keys */
#define TPA_STRICT 10     /* int: not 0: with known peers: refuse a peer that is not among them */
#define TPA_SHARED_KEY 11 /* text: with a key: path of a secret that both ends have, from `multihop keygen --shared` */
#define TPA_SILENT 12     /* int: not 0: to listen: do not answer anybody who has not the token or an authorised key */

#define TPA_NONBLOCKING 6 /* int: not 0: calls fail with EAGAIN or EINPROGRESS instead of blocking */
#define TPA_LINGER 7      /* int: seconds that tpa_close waits until the peer has all data; default 60; 0: not at all */
#define TPA_CWND_MAX 8    /* int: largest congestion window in segments, 1 to 12 */

/* Read-only. */
#define TPA_ERROR 16         /* int: errno of the last error since the last call, or 0 */
#define TPA_ERROR_TEXT 17    /* text: the same as text; does not clear it */
#define TPA_STATS 18         /* struct tpa_stats */
#define TPA_LOCAL_ADDRESS 19 /* struct sockaddr_storage */
#define TPA_PEER_ADDRESS 20  /* struct sockaddr_storage */
#define TPA_PEER_KEY 21      /* text: the public key that the peer has proved; ENOENT without keys */

/* Statistics of a connection. Later versions may add members at the end. */
struct tpa_stats {
    uint64_t bytes_sent;            /* acknowledged by the peer */
    uint64_t bytes_received;        /* in order */
    uint64_t datagrams_sent;        /* on the wire */
    uint64_t datagrams_received;
    uint64_t wire_bytes_sent;       /* in those datagrams */
    uint64_t wire_bytes_received;
    uint64_t segments_sent;         /* with data, retransmissions included */
    uint64_t segments_retransmitted;
    uint64_t timeouts;
    uint64_t freezes;               /* times that the sender froze because of a lost route */
    uint64_t notices;               /* from routers without a route */
    uint64_t rtt_us;                /* smoothed round-trip time; 0: not measured yet */
    uint64_t rto_us;                /* retransmission timeout */
    uint32_t mss;                   /* data bytes in a full segment */
    uint32_t cwnd;                  /* segments that may be in flight */
    uint32_t phase;                 /* TPA_NORMAL, TPA_CONGESTED or TPA_FREEZE */
    uint32_t hops;                  /* hops to the peer; 0: not known */
};

#define TPA_NORMAL 0
#define TPA_CONGESTED 1
#define TPA_FREEZE 2

#ifdef __cplusplus
}
#endif

#endif
