/* Sockets of IPv4 and IPv6: pairs of local sockets, whose other ends the emulation has.
 *
 * Data, readiness, shutdown and closing are those of the local sockets. Addresses and options are requests. A datagram
 * begins with the address of its peer. A listening socket receives connections, as descriptors with an address. A socket
 * is known by its inode, so that copies of descriptors need no attention.
 */
#include "preload.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

struct known {
    uint64_t inode;
    enum emulated type;
    bool is_ipv6;
};

/* Sockets that this process has seen; a later socket replaces an earlier one with the same place. */
#define PLACES 4096
static struct known known[PLACES];

struct datagram_header {
    uint32_t address;
    uint16_t port;
    uint16_t unused;
};

struct connection {
    uint32_t address;
    uint16_t port;
    uint16_t unused;
};

static uint64_t inode_of(int fd) {
    struct stat status;
    if (fstat(fd, &status) != 0 || (status.st_mode & S_IFMT) != S_IFSOCK) return 0;
    return status.st_ino;
}

static void note_socket(uint64_t inode, enum emulated type, bool is_ipv6) {
    known[inode % PLACES] = (struct known){inode, type, is_ipv6};
}

enum emulated emulated_socket(int fd, bool *is_ipv6) {
    if (!is_emulated()) return NONE;
    uint64_t inode = inode_of(fd);
    if (inode == 0) return NONE;
    struct known *place = &known[inode % PLACES];
    if (place->inode != inode) {
        struct message message = {.kind = LOOK_UP, .inode = inode};
        ask(&message, -1);
        note_socket(inode, (enum emulated)message.first, message.second != 0);
    }
    if (is_ipv6 != NULL) *is_ipv6 = place->is_ipv6;
    return place->type;
}

EXPORT int socket(int family, int type, int protocol) {
    int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (!is_emulated() || (family != AF_INET && family != AF_INET6)) {
        if (is_emulated() && family == AF_PACKET) refuse("socket(AF_PACKET)");
        long fd = raw(SYS_socket, (long)family, (long)type, (long)protocol, 0L, 0L, 0L);
        return fd < 0 ? failed(fd) : (int)fd;
    }
    bool is_stream = kind == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP);
    bool is_datagram = kind == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP);
    if (kind == SOCK_STREAM && !is_stream) return failed(-EPROTONOSUPPORT);
    if (!is_stream && !is_datagram) refuse("socket() other than TCP and UDP");
    int pair[2];
    long local = (is_stream ? SOCK_STREAM : SOCK_SEQPACKET) | (type & (SOCK_NONBLOCK | SOCK_CLOEXEC));
    long result = raw(SYS_socketpair, (long)AF_UNIX, local, 0L, (long)pair, 0L, 0L);
    if (result < 0) return failed(result);
    struct message message = {.kind = SOCKET, .inode = inode_of(pair[0]), .first = is_stream ? STREAM : DATAGRAM};
    message.second = family == AF_INET6;
    ask(&message, pair[1]);
    raw(SYS_close, (long)pair[1], 0L, 0L, 0L, 0L, 0L);
    note_socket(message.inode, is_stream ? STREAM : DATAGRAM, family == AF_INET6);
    return pair[0];
}

/* Reads an address; returns 0 or the number of an error. IPv6 addresses are those of IPv4, or that of all or this node. */
static int read_address(const struct sockaddr *from, socklen_t length, uint32_t *address, uint16_t *port) {
    if (from->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        const struct sockaddr_in *in = (const void *)from;
        *address = ntohl(in->sin_addr.s_addr);
        *port = ntohs(in->sin_port);
        return 0;
    }
    if (from->sa_family != AF_INET6 || length < offsetof(struct sockaddr_in6, sin6_scope_id)) return EAFNOSUPPORT;
    const struct sockaddr_in6 *in6 = (const void *)from;
    *port = ntohs(in6->sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
        memcpy(address, (const char *)&in6->sin6_addr + 12, 4);
        *address = ntohl(*address);
    } else if (IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
        *address = 0;
    } else if (IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr)) {
        *address = INADDR_LOOPBACK;
    } else {
        return ENETUNREACH;
    }
    return 0;
}

static void write_address(bool is_ipv6, uint32_t address, uint16_t port, struct sockaddr *into, socklen_t *length) {
    if (into == NULL || length == NULL) return;
    if (!is_ipv6) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
        memcpy(into, &in, *length < sizeof in ? *length : sizeof in);
        *length = sizeof in;
        return;
    }
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    uint32_t swapped = htonl(address);
    if (address != 0) {
        memset((char *)&in6.sin6_addr + 10, 0xff, 2);
        memcpy((char *)&in6.sin6_addr + 12, &swapped, 4);
    }
    memcpy(into, &in6, *length < sizeof in6 ? *length : sizeof in6);
    *length = sizeof in6;
}

static struct message request(enum kind kind, int fd) {
    return (struct message){.kind = kind, .inode = inode_of(fd)};
}

static int result_of(struct message *message) {
    ask(message, -1);
    return message->result == 0 ? 0 : failed(-message->result);
}

int socket_error(int fd) {
    if (emulated_socket(fd, NULL) != STREAM) return 0;
    struct message message = request(ERROR, fd);
    ask(&message, -1);
    return message.result;
}

EXPORT int bind(int fd, __CONST_SOCKADDR_ARG from, socklen_t length) {
    const struct sockaddr *address = *(const struct sockaddr **)&from;
    if (emulated_socket(fd, NULL) == NONE) {
        long result = raw(SYS_bind, (long)fd, (long)address, (long)length, 0L, 0L, 0L);
        return result < 0 ? failed(result) : 0;
    }
    struct message message = request(BIND, fd);
    int error = read_address(address, length, &message.address, &message.port);
    return error != 0 ? failed(-(error == ENETUNREACH ? EADDRNOTAVAIL : error)) : result_of(&message);
}

EXPORT int listen(int fd, int backlog) {
    if (emulated_socket(fd, NULL) == NONE) {
        long result = raw(SYS_listen, (long)fd, (long)backlog, 0L, 0L, 0L, 0L);
        return result < 0 ? failed(result) : 0;
    }
    struct message message = request(LISTEN, fd);
    return result_of(&message);
}

/* Fills the socket: nobody can write until the connection exists, and the emulation has read this. */
static int fill(int fd) {
    static const char nothing[4096];
    int total = 0;
    for (;;) {
        long result = raw(SYS_sendto, (long)fd, (long)nothing, (long)sizeof nothing, (long)(MSG_DONTWAIT | MSG_NOSIGNAL), 0L, 0L);
        if (result <= 0) return total;
        total += (int)result;
    }
}

EXPORT int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t length) {
    const struct sockaddr *address = *(const struct sockaddr **)&to;
    enum emulated type = emulated_socket(fd, NULL);
    if (type == NONE) {
        long result = raw(SYS_connect, (long)fd, (long)address, (long)length, 0L, 0L, 0L);
        return result < 0 ? failed(result) : 0;
    }
    struct message message = request(CONNECT, fd);
    if (address->sa_family != AF_UNSPEC) {
        int error = read_address(address, length, &message.address, &message.port);
        if (error != 0) return failed(-error);
    }
    /* A request with no bytes finds out whether the socket can connect now. */
    if (type == DATAGRAM) return result_of(&message);
    struct message first = message;
    if (result_of(&first) != 0) return -1;
    message.first = fill(fd);
    if (result_of(&message) != 0) return -1;
    if (is_nonblocking(fd)) return failed(-EINPROGRESS);
    while (!is_ready(fd, POLLOUT))
        if (park(fd, POLLOUT, NEVER) == 1) return failed(-EINTR);
    int error = socket_error(fd);
    return error != 0 ? failed(-error) : 0;
}

EXPORT int accept4(int fd, __SOCKADDR_ARG from, socklen_t *restrict length, int flags) {
    struct sockaddr *address = *(struct sockaddr **)&from;
    bool is_ipv6 = false;
    enum emulated type = emulated_socket(fd, &is_ipv6);
    while (is_emulated() && !is_ready(fd, POLLIN) && !is_nonblocking(fd))
        if (park(fd, POLLIN, NEVER) == 1) return failed(-EINTR);
    if (type == NONE) {
        long result = raw(SYS_accept4, (long)fd, (long)address, (long)length, (long)flags, 0L, 0L);
        return result < 0 ? failed(result) : (int)result;
    }
    struct connection connection;
    struct iovec part = {&connection, sizeof connection};
    char space[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    long close = flags & SOCK_CLOEXEC ? MSG_CMSG_CLOEXEC : 0;
    long result = raw(SYS_recvmsg, (long)fd, (long)&message, (long)MSG_DONTWAIT | close, 0L, 0L, 0L);
    struct cmsghdr *attached = result == (long)sizeof connection ? CMSG_FIRSTHDR(&message) : NULL;
    if (attached == NULL) return failed(result < 0 ? result : -EINVAL);
    int accepted;
    memcpy(&accepted, CMSG_DATA(attached), sizeof accepted);
    if (flags & SOCK_NONBLOCK) raw(SYS_fcntl, (long)accepted, (long)F_SETFL, (long)(O_RDWR | O_NONBLOCK), 0L, 0L, 0L);
    note_socket(inode_of(accepted), STREAM, is_ipv6);
    write_address(is_ipv6, connection.address, connection.port, address, length);
    return accepted;
}

EXPORT int accept(int fd, __SOCKADDR_ARG from, socklen_t *restrict length) {
    return accept4(fd, from, length, 0);
}

static int name(enum kind kind, long call, int fd, struct sockaddr *into, socklen_t *length) {
    bool is_ipv6;
    if (emulated_socket(fd, &is_ipv6) == NONE) {
        long result = raw(call, (long)fd, (long)into, (long)length, 0L, 0L, 0L);
        return result < 0 ? failed(result) : 0;
    }
    struct message message = request(kind, fd);
    if (result_of(&message) != 0) return -1;
    write_address(is_ipv6, message.address, message.port, into, length);
    return 0;
}

EXPORT int getsockname(int fd, __SOCKADDR_ARG into, socklen_t *restrict length) {
    return name(LOCAL, SYS_getsockname, fd, *(struct sockaddr **)&into, length);
}

EXPORT int getpeername(int fd, __SOCKADDR_ARG into, socklen_t *restrict length) {
    return name(PEER, SYS_getpeername, fd, *(struct sockaddr **)&into, length);
}

EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t length) {
    enum emulated type = emulated_socket(fd, NULL);
    if (type != NONE && level == IPPROTO_TCP && option == TCP_CONGESTION) {
        struct message message = request(CHOOSE, fd);
        memcpy(message.text, value, length < sizeof message.text ? length : sizeof message.text - 1);
        return result_of(&message);
    }
    if (type == DATAGRAM && level == SOL_SOCKET && option == SO_BROADCAST) refuse("SO_BROADCAST");
    if (type == DATAGRAM && ((level == IPPROTO_IP && (option == IP_ADD_MEMBERSHIP || option == MCAST_JOIN_GROUP)) ||
                             (level == IPPROTO_IPV6 && (option == IPV6_JOIN_GROUP || option == MCAST_JOIN_GROUP))))
        refuse("a multicast group");
    /* Other options of TCP and IP have no effect. */
    if (type != NONE && level != SOL_SOCKET) return 0;
    if (type != NONE && (option == SO_REUSEPORT || option == SO_BINDTODEVICE || option == SO_ZEROCOPY || option == SO_LINGER))
        return 0;
    long result = raw(SYS_setsockopt, (long)fd, (long)level, (long)option, (long)value, (long)length, 0L);
    return result < 0 ? failed(result) : 0;
}

static int answer(const void *value, size_t size, void *into, socklen_t *length) {
    if (*length > size) *length = (socklen_t)size;
    memcpy(into, value, *length);
    return 0;
}

static int answer_number(int value, void *into, socklen_t *length) {
    return answer(&value, sizeof value, into, length);
}

static int tcp_option(int fd, int option, void *into, socklen_t *length) {
    struct message message = request(DETAILS, fd);
    if (result_of(&message) != 0) return -1;
    if (option == TCP_MAXSEG) return answer_number((int)message.address, into, length);
    if (option == TCP_CONGESTION) return answer(message.text, sizeof message.text, into, length);
    if (option != TCP_INFO) return answer_number(0, into, length);
    struct tcp_info info;
    memset(&info, 0, sizeof info);
    info.tcpi_state = (uint8_t)message.events;
    info.tcpi_snd_mss = info.tcpi_rcv_mss = info.tcpi_advmss = message.address;
    info.tcpi_pmtu = message.address + 40;
    info.tcpi_total_retrans = (uint32_t)message.first;
    info.tcpi_snd_cwnd = (uint32_t)message.second;
    info.tcpi_rtt = (uint32_t)(message.time / 1000);
    return answer(&info, sizeof info, into, length);
}

EXPORT int getsockopt(int fd, int level, int option, void *restrict into, socklen_t *restrict length) {
    bool is_ipv6;
    enum emulated type = emulated_socket(fd, &is_ipv6);
    if (type != NONE && level == SOL_SOCKET) {
        switch (option) {
        case SO_ERROR: return answer_number(socket_error(fd), into, length);
        case SO_TYPE: return answer_number(type == STREAM ? SOCK_STREAM : SOCK_DGRAM, into, length);
        case SO_DOMAIN: return answer_number(is_ipv6 ? AF_INET6 : AF_INET, into, length);
        case SO_PROTOCOL: return answer_number(type == STREAM ? IPPROTO_TCP : IPPROTO_UDP, into, length);
        default: break;
        }
    } else if (type == STREAM && level == IPPROTO_TCP) {
        return tcp_option(fd, option, into, length);
    } else if (type != NONE) {
        return answer_number(0, into, length);
    }
    long result = raw(SYS_getsockopt, (long)fd, (long)level, (long)option, (long)into, (long)length, 0L);
    return result < 0 ? failed(result) : 0;
}

/* Message whose first part is the header. */
static struct msghdr with_header(const struct msghdr *message, struct datagram_header *header, struct iovec *parts) {
    if (message->msg_iovlen >= IOV_MAX) refuse("a datagram of too many parts");
    parts[0] = (struct iovec){header, sizeof *header};
    memcpy(parts + 1, message->msg_iov, message->msg_iovlen * sizeof *parts);
    return (struct msghdr){.msg_iov = parts, .msg_iovlen = message->msg_iovlen + 1};
}

/* Larger datagrams would be fragmented, which no network of virtual time does. */
#define MAX_DATAGRAM 2272

ssize_t send_datagram(int fd, const struct msghdr *message, int flags) {
    struct datagram_header header = {0, 0, 0};
    if (message->msg_name != NULL) {
        int error = read_address(message->msg_name, message->msg_namelen, &header.address, &header.port);
        if (error != 0) return failed(-error);
    } else {
        struct message peer = request(PEER, fd);
        if (result_of(&peer) != 0) return failed(-EDESTADDRREQ);
    }
    if (header.address >> 28 == 0xe || header.address == INADDR_BROADCAST) refuse("a multicast or broadcast");
    size_t length = 0;
    for (size_t n = 0; n < message->msg_iovlen; n++) length += message->msg_iov[n].iov_len;
    if (length > MAX_DATAGRAM) return failed(-EMSGSIZE);
    struct iovec parts[IOV_MAX + 1];
    struct msghdr whole = with_header(message, &header, parts);
    long result = raw(SYS_sendmsg, (long)fd, (long)&whole, (long)flags, 0L, 0L, 0L);
    return result < 0 ? failed(result) : result - (long)sizeof header;
}

ssize_t receive_datagram(int fd, struct msghdr *message, int flags) {
    struct datagram_header header;
    struct iovec parts[IOV_MAX + 1];
    struct msghdr whole = with_header(message, &header, parts);
    long result = raw(SYS_recvmsg, (long)fd, (long)&whole, (long)flags, 0L, 0L, 0L);
    if (result < 0) return failed(result);
    bool is_ipv6 = false;
    emulated_socket(fd, &is_ipv6);
    message->msg_controllen = 0;
    message->msg_flags = whole.msg_flags;
    if (message->msg_name != NULL) write_address(is_ipv6, header.address, header.port, message->msg_name, &message->msg_namelen);
    return result < (long)sizeof header ? 0 : result - (long)sizeof header;
}
