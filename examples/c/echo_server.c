/* Sends back what arrives, to each connection by a thread of its own.
 *
 *     echo_server PORT [TOKEN]     without a token: the bare protocol, which anybody can read */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tpa.h>

static void *echo(void *argument) {
    int connection = (int)(intptr_t)argument;
    char data[16384];
    ssize_t length;
    while ((length = tpa_recv(connection, data, sizeof data, 0)) > 0) {
        for (ssize_t done = 0; done < length;) {
            ssize_t sent = tpa_send(connection, data + done, (size_t)(length - done), 0);
            if (sent < 0) {
                perror("send");
                tpa_close(connection);
                return NULL;
            }
            done += sent;
        }
    }
    if (length < 0) {
        perror("receive");
    }
    if (tpa_close(connection) < 0) {
        perror("close");
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s PORT [TOKEN]\n", argv[0]);
        return 2;
    }
    int plain = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    socklen_t length = sizeof address;
    int listener = tpa_socket(AF_INET, SOCK_STREAM, 0);
    int chosen = argc > 2 ? tpa_setsockopt(listener, TPA_LEVEL, TPA_TOKEN, argv[2], (socklen_t)strlen(argv[2]))
                          : tpa_setsockopt(listener, TPA_LEVEL, TPA_PLAIN, &plain, sizeof plain);
    if (chosen < 0 || tpa_bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        tpa_listen(listener, 16) < 0 ||
        tpa_getsockopt(listener, TPA_LEVEL, TPA_LOCAL_ADDRESS, &address, &length) < 0) {
        perror("listen");
        return 1;
    }
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        int connection = tpa_accept(listener, NULL, NULL);
        if (connection < 0) {
            perror("accept");
            return 1;
        }
        if (pthread_create(&thread, NULL, echo, (void *)(intptr_t)connection) != 0) {
            tpa_close(connection);
        } else {
            pthread_detach(thread);
        }
    }
}
