/* Processes: forks, further programs, waiting for children, and signals between processes. */
#include "preload.h"

#include <errno.h>
#include <pty.h>
#include <spawn.h>
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

/* The child connects before its parent goes on, so that the emulation knows of both. */
EXPORT pid_t fork(void) {
    if (!is_emulated()) return NEXT(fork)();
    int pipe[2];
    if (raw(SYS_pipe2, (long)pipe, (long)O_CLOEXEC, 0L, 0L, 0L, 0L) < 0) return failed(-EAGAIN);
    pid_t child = NEXT(fork)();
    if (child == 0) {
        forget_other_channels();
        forget_threads();
        raw(SYS_close, (long)pipe[0], 0L, 0L, 0L, 0L, 0L);
        start_process();
        raw(SYS_close, (long)pipe[1], 0L, 0L, 0L, 0L, 0L);
        wait_for_turn();
        return 0;
    }
    int saved = errno;
    char nothing;
    raw(SYS_close, (long)pipe[1], 0L, 0L, 0L, 0L, 0L);
    while (raw(SYS_read, (long)pipe[0], (long)&nothing, 1L, 0L, 0L, 0L) == -EINTR) {}
    raw(SYS_close, (long)pipe[0], 0L, 0L, 0L, 0L, 0L);
    errno = saved;
    return child;
}

EXPORT pid_t vfork(void) { return fork(); }

/* Functions of libc that fork without a call of fork(). */

EXPORT int daemon(int keeps_folder, int keeps_streams) {
    pid_t child = fork();
    if (child < 0) return -1;
    if (child > 0) _exit(0);
    if (setsid() < 0 || (!keeps_folder && chdir("/") < 0)) return -1;
    if (keeps_streams) return 0;
    int null = open("/dev/null", O_RDWR);
    if (null < 0) return -1;
    for (int stream = 0; stream < 3; stream++) dup2(null, stream);
    if (null > 2) close(null);
    return 0;
}

EXPORT pid_t forkpty(int *terminal, char *name, const struct termios *settings, const struct winsize *size) {
    (void)terminal;
    (void)name;
    (void)settings;
    (void)size;
    refuse("forkpty()");
}

/* Programs */

static void announce_exec(void) {
    struct message message = {.kind = EXEC};
    ask(&message, -1);
}

EXPORT int execve(const char *path, char *const arguments[], char *const environment[]) {
    /* A program that does not exist needs no announcement, so that searches along PATH stay silent. */
    if (is_emulated() && access(path, X_OK) == 0) announce_exec();
    long result = raw(SYS_execve, (long)path, (long)arguments, (long)environment, 0L, 0L, 0L);
    return failed(result);
}

EXPORT int execv(const char *path, char *const arguments[]) { return execve(path, arguments, environ); }

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[]) {
    if (strchr(file, '/') != NULL) return execve(file, arguments, environment);
    const char *path = getenv("PATH");
    int error = ENOENT;
    for (const char *part = path != NULL ? path : "/bin:/usr/bin"; part != NULL;) {
        const char *end = strchr(part, ':');
        size_t length = end != NULL ? (size_t)(end - part) : strlen(part);
        char whole[PATH_MAX];
        if (length + strlen(file) + 2 <= sizeof whole) {
            memcpy(whole, part, length);
            whole[length] = '/';
            strcpy(whole + length + 1, file);
            execve(whole, arguments, environment);
            if (errno != ENOENT && errno != ENOTDIR) error = errno;
            if (errno == ENOEXEC) break;
        }
        part = end != NULL ? end + 1 : NULL;
    }
    return failed(-error);
}

EXPORT int execvp(const char *file, char *const arguments[]) { return execvpe(file, arguments, environ); }

#define COLLECT(first, words)                          \
    va_list list;                                      \
    size_t count = 1;                                  \
    va_start(list, first);                             \
    while (va_arg(list, char *) != NULL) count++;      \
    va_end(list);                                      \
    char *words[count + 1];                            \
    words[0] = (char *)first;                          \
    va_start(list, first);                             \
    for (size_t n = 1; n <= count; n++) words[n] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...) {
    COLLECT(first, words);
    va_end(list);
    return execv(path, words);
}

EXPORT int execlp(const char *file, const char *first, ...) {
    COLLECT(first, words);
    va_end(list);
    return execvp(file, words);
}

EXPORT int execle(const char *path, const char *first, ...) {
    COLLECT(first, words);
    char **environment = va_arg(list, char **);
    va_end(list);
    return execve(path, words, environment);
}

static void announce_spawned(pid_t child, const char *path) {
    struct message message = {.kind = SPAWNED};
    strncpy(message.text, path, sizeof message.text - 1);
    int fd = (int)raw(SYS_pidfd_open, (long)child, 0L, 0L, 0L, 0L, 0L);
    ask(&message, fd);
    if (fd >= 0) raw(SYS_close, (long)fd, 0L, 0L, 0L, 0L, 0L);
}

EXPORT int posix_spawn(pid_t *restrict child, const char *restrict path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                       char *const environment[restrict]) {
    pid_t spawned;
    int result = NEXT(posix_spawn)(&spawned, path, actions, attributes, arguments, environment);
    if (result == 0 && is_emulated()) announce_spawned(spawned, path);
    if (result == 0 && child != NULL) *child = spawned;
    return result;
}

EXPORT int posix_spawnp(pid_t *restrict child, const char *restrict file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                        char *const environment[restrict]) {
    pid_t spawned;
    int result = NEXT(posix_spawnp)(&spawned, file, actions, attributes, arguments, environment);
    if (result == 0 && is_emulated()) announce_spawned(spawned, file);
    if (result == 0 && child != NULL) *child = spawned;
    return result;
}

EXPORT int system(const char *command) {
    if (!is_emulated()) return NEXT(system)(command);
    if (command == NULL) return 1;
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status;
}

EXPORT FILE *popen(const char *command, const char *type) {
    if (is_emulated()) refuse("popen()");
    return NEXT(popen)(command, type);
}

/* Children */

EXPORT pid_t wait4(pid_t child, int *status, int options, struct rusage *usage) {
    for (;;) {
        long without = is_emulated() ? WNOHANG : 0;
        long result = raw(SYS_wait4, (long)child, (long)status, options | without, (long)usage, 0L, 0L);
        if (result != 0 || (options & WNOHANG)) return result < 0 ? failed(result) : (pid_t)result;
        if (park(-1, 0, NEVER) == 1) return failed(-EINTR);
    }
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage) { return wait4(-1, status, options, usage); }

EXPORT pid_t waitpid(pid_t child, int *status, int options) { return wait4(child, status, options, NULL); }

EXPORT pid_t wait(int *status) { return wait4(-1, status, 0, NULL); }

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    siginfo_t own;
    if (info == NULL) info = &own;
    for (;;) {
        info->si_pid = 0;
        long without = is_emulated() ? WNOHANG : 0;
        long result = raw(SYS_waitid, (long)type, (long)id, (long)info, options | without, 0L, 0L);
        if (result < 0) return failed(result);
        if (info->si_pid != 0 || (options & WNOHANG) || !is_emulated()) return 0;
        if (park(-1, 0, NEVER) == 1) return failed(-EINTR);
    }
}

/* Signals */

static int signalled(long result, pid_t process, int signal) {
    if (result < 0) return failed(result);
    if (is_emulated() && signal != 0 && process != getpid()) {
        struct message message = {.kind = SIGNAL, .first = process, .second = signal};
        ask(&message, -1);
    }
    return 0;
}

EXPORT int kill(pid_t process, int signal) {
    return signalled(raw(SYS_kill, (long)process, (long)signal, 0L, 0L, 0L, 0L), process, signal);
}

EXPORT int killpg(pid_t group, int signal) {
    return kill(group == 0 ? 0 : -group, signal);
}

EXPORT int pthread_kill(pthread_t thread, int signal) {
    int result = NEXT(pthread_kill)(thread, signal);
    if (result == 0) signalled(0, 0, signal);
    return result;
}

EXPORT int sigsuspend(const sigset_t *mask) {
    if (is_emulated()) {
        sigset_t old;
        sigprocmask(SIG_SETMASK, mask, &old);
        while (park(-1, 0, NEVER) == 0) {}
        sigprocmask(SIG_SETMASK, &old, NULL);
        return failed(-EINTR);
    }
    return failed(raw(SYS_rt_sigsuspend, (long)mask, 8L, 0L, 0L, 0L, 0L));
}

EXPORT int pause(void) {
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    return sigsuspend(&mask);
}

EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict timeout) {
    if (!is_emulated()) return NEXT(sigtimedwait)(set, info, timeout);
    struct timespec zero = {0, 0};
    int64_t deadline = deadline_of(timeout);
    for (;;) {
        long result = raw(SYS_rt_sigtimedwait, (long)set, (long)info, (long)&zero, 8L, 0L, 0L);
        if (result != -EAGAIN) return result < 0 ? failed(result) : (int)result;
        if (deadline != NEVER && current_time() >= deadline) return failed(-EAGAIN);
        park(-1, 0, deadline);
    }
}

EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info) { return sigtimedwait(set, info, NULL); }

EXPORT int sigwait(const sigset_t *restrict set, int *restrict signal) {
    int result = sigtimedwait(set, NULL, NULL);
    if (result < 0) return errno;
    *signal = result;
    return 0;
}

/* Channels stay open when a program closes all descriptors. */

EXPORT int close(int fd) {
    if (is_channel(fd)) return 0;
    long result = raw(SYS_close, (long)fd, 0L, 0L, 0L, 0L, 0L);
    return result < 0 ? failed(result) : 0;
}

EXPORT int close_range(unsigned first, unsigned last, int flags) {
    for (unsigned fd = first; fd <= last && fd < 1024; fd++) {
        if (!is_channel((int)fd)) continue;
        if (fd > first) raw(SYS_close_range, (long)first, (long)(fd - 1), (long)flags, 0L, 0L, 0L);
        first = fd + 1;
    }
    if (first > last) return 0;
    long result = raw(SYS_close_range, (long)first, (long)last, (long)flags, 0L, 0L, 0L);
    return result < 0 ? failed(result) : 0;
}

EXPORT void closefrom(int first) { close_range((unsigned)first, ~0U, 0); }
