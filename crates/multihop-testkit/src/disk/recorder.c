/* Records what a program changes below one folder: a library for LD_PRELOAD on Linux with glibc.
 *
 * MULTIHOP_DISK_ROOT is the canonical path of the folder, MULTIHOP_DISK_TRACE the file to which records are appended. A
 * record is one line: name of the operation, three numbers, three strings in hexadecimal ('-' if empty). A record of a
 * change is written after the call has succeeded and before it returns, so that the order of records never puts a change
 * before something that the program waited for. A record of output to the user is written before the output.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))
#define ALIAS(from, to, result, parameters, arguments) \
    result to parameters { return from arguments; }

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

/* The file of records; -1 if nothing is recorded. */
static int trace(void) {
    static int fd = -2;
    if (fd == -2) {
        const char *path = getenv("MULTIHOP_DISK_TRACE");
        int low = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC, 0) : -1;
        fd = low < 0 ? -1 : (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 400);
        if (low >= 0) syscall(SYS_close, low);
    }
    return fd;
}

static int is_below_root(const char *path) {
    const char *root = getenv("MULTIHOP_DISK_ROOT");
    size_t length = root ? strlen(root) : 0;
    return length && !strncmp(path, root, length) && (path[length] == '/' || path[length] == 0);
}

static char *hex(char *out, const void *bytes, size_t length) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    *out++ = ' ';
    if (!length) *out++ = '-';
    for (size_t n = 0; n < length; n++) {
        *out++ = digits[from[n] >> 4];
        *out++ = digits[from[n] & 15];
    }
    return out;
}

static void record(const char *name, unsigned long long a, unsigned long long b, unsigned long long c, const char *one,
                   const char *two, const void *data, size_t length) {
    int saved = errno, fd = trace();
    if (fd >= 0) {
        one = one ? one : "";
        two = two ? two : "";
        char *line = malloc(200 + 2 * (strlen(one) + strlen(two) + length));
        if (!line) abort();
        char *end = line + sprintf(line, "%s %llu %llu %llu", name, a, b, c);
        end = hex(end, one, strlen(one));
        end = hex(end, two, strlen(two));
        end = hex(end, data, length);
        *end++ = '\n';
        if (syscall(SYS_write, fd, line, end - line) != end - line) abort();
        free(line);
    }
    errno = saved;
}

/* The path of an open file, and its kind; false if it is not below the folder. */
static int known(int fd, char path[PATH_MAX], struct stat *found) {
    char link[64];
    int saved = errno;
    if (trace() < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length > 0) path[length] = 0;
    int is_known = length > 0 && is_below_root(path) && !fstat(fd, found);
    errno = saved;
    return is_known;
}

/* The canonical path of a name in a folder; false if it is not below the folder. */
static int placed(int at, const char *name, char path[PATH_MAX]) {
    char joined[PATH_MAX], folder[PATH_MAX], link[64];
    int saved = errno;
    if (trace() < 0) return 0;
    if (name[0] == '/') {
        snprintf(joined, sizeof joined, "%s", name);
    } else if (at == AT_FDCWD) {
        if (!getcwd(folder, sizeof folder)) return 0;
        if (snprintf(joined, sizeof joined, "%s/%s", folder, name) >= PATH_MAX) return 0;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, folder, PATH_MAX - 1);
        if (length <= 0) return 0;
        folder[length] = 0;
        if (snprintf(joined, sizeof joined, "%s/%s", folder, name) >= PATH_MAX) return 0;
    }
    size_t length = strlen(joined);
    while (length > 1 && joined[length - 1] == '/') joined[--length] = 0;
    char *last = strrchr(joined, '/');
    *last = 0;
    int is_placed = realpath(*joined ? joined : "/", folder) != NULL;
    is_placed = is_placed && snprintf(path, PATH_MAX, "%s/%s", folder, last + 1) < PATH_MAX && is_below_root(path);
    errno = saved;
    return is_placed;
}

/* Opening */

static int opened(int fd, int flags) {
    char path[PATH_MAX];
    struct stat found;
    if (fd >= 0 && (flags & (O_CREAT | O_TRUNC)) && known(fd, path, &found) && S_ISREG(found.st_mode)) {
        if (flags & O_CREAT) record("create", found.st_ino, found.st_mode & 07777, 0, path, NULL, NULL, 0);
        if (flags & O_TRUNC) record("resize", found.st_ino, 0, 0, NULL, NULL, NULL, 0);
    }
    return fd;
}

static mode_t mode_of(int flags, va_list more) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opened(REAL(open)(path, flags, mode), flags);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opened(REAL(open64)(path, flags, mode), flags);
}

int openat(int at, const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opened(REAL(openat)(at, path, flags, mode), flags);
}

int openat64(int at, const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opened(REAL(openat64)(at, path, flags, mode), flags);
}

int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
ALIAS(creat, creat64, int, (const char *path, mode_t mode), (path, mode))

/* Contents */

static void wrote(int fd, off_t offset, const void *data, size_t length) {
    char path[PATH_MAX];
    struct stat found;
    if (length && known(fd, path, &found) && S_ISREG(found.st_mode))
        record("write", found.st_ino, offset, 0, NULL, NULL, data, length);
}

/* `length` bytes before the position of the file. */
static ssize_t wrote_here(int fd, const void *data, ssize_t length) {
    if (length > 0) wrote(fd, lseek(fd, 0, SEEK_CUR) - length, data, length);
    return length;
}

static void say(int fd, const void *data, size_t length) {
    char path[PATH_MAX];
    struct stat found;
    if ((fd == 1 || fd == 2) && length && !known(fd, path, &found))
        record("output", getpid(), fd, 0, NULL, NULL, data, length);
}

static char *gathered(const struct iovec *parts, int count, size_t *length) {
    *length = 0;
    for (int n = 0; n < count; n++) *length += parts[n].iov_len;
    char *all = malloc(*length + 1), *end = all;
    if (!all) abort();
    for (int n = 0; n < count; n++) {
        memcpy(end, parts[n].iov_base, parts[n].iov_len);
        end += parts[n].iov_len;
    }
    return all;
}

ssize_t write(int fd, const void *data, size_t length) {
    say(fd, data, length);
    return wrote_here(fd, data, REAL(write)(fd, data, length));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    size_t length;
    char *all = gathered(parts, count, &length);
    say(fd, all, length);
    ssize_t done = wrote_here(fd, all, REAL(writev)(fd, parts, count));
    free(all);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    ssize_t done = REAL(pwrite)(fd, data, length, offset);
    if (done > 0) wrote(fd, offset, data, done);
    return done;
}
ALIAS(pwrite, pwrite64, ssize_t, (int fd, const void *data, size_t length, off_t offset), (fd, data, length, offset))

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    size_t length;
    char *all = gathered(parts, count, &length);
    ssize_t done = REAL(pwritev)(fd, parts, count, offset);
    if (done > 0) wrote(fd, offset, all, done);
    free(all);
    return done;
}
ALIAS(pwritev, pwritev64, ssize_t, (int fd, const struct iovec *parts, int count, off_t offset),
      (fd, parts, count, offset))

/* Bytes that the kernel has copied into a file. */
static void copied(int fd, off_t offset, ssize_t length) {
    char link[64];
    if (length <= 0) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int reader = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
    char *data = malloc(length);
    if (reader < 0 || !data || pread(reader, data, length, offset) != length) abort();
    wrote(fd, offset, data, length);
    free(data);
    syscall(SYS_close, reader);
}

static void copied_here(int fd, off_t *offset, ssize_t length) {
    char path[PATH_MAX];
    struct stat found;
    if (length > 0 && known(fd, path, &found) && S_ISREG(found.st_mode))
        copied(fd, (offset ? *offset : lseek(fd, 0, SEEK_CUR)) - length, length);
}

ssize_t copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t length, unsigned flags) {
    ssize_t done = REAL(copy_file_range)(in, in_offset, out, out_offset, length, flags);
    copied_here(out, out_offset, done);
    return done;
}

ssize_t splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t length, unsigned flags) {
    ssize_t done = REAL(splice)(in, in_offset, out, out_offset, length, flags);
    copied_here(out, out_offset, done);
    return done;
}

ssize_t sendfile(int out, int in, off_t *offset, size_t length);
ssize_t sendfile(int out, int in, off_t *offset, size_t length) {
    ssize_t done = REAL(sendfile)(out, in, offset, length);
    copied_here(out, NULL, done);
    return done;
}
ssize_t sendfile64(int out, int in, off_t *offset, size_t length);
ALIAS(sendfile, sendfile64, ssize_t, (int out, int in, off_t *offset, size_t length), (out, in, offset, length))

int ftruncate(int fd, off_t length) {
    char path[PATH_MAX];
    struct stat found;
    int done = REAL(ftruncate)(fd, length);
    if (!done && known(fd, path, &found)) record("resize", found.st_ino, length, 0, NULL, NULL, NULL, 0);
    return done;
}
ALIAS(ftruncate, ftruncate64, int, (int fd, off_t length), (fd, length))

int truncate(const char *name, off_t length) {
    char path[PATH_MAX];
    struct stat found;
    int done = REAL(truncate)(name, length);
    if (!done && placed(AT_FDCWD, name, path) && !stat(path, &found))
        record("resize", found.st_ino, length, 0, NULL, NULL, NULL, 0);
    return done;
}
ALIAS(truncate, truncate64, int, (const char *name, off_t length), (name, length))

/* Only a reservation that makes the file longer is recorded; punched holes are not. */
int fallocate(int fd, int mode, off_t offset, off_t length) {
    char path[PATH_MAX];
    struct stat before, after;
    int is_known = known(fd, path, &before);
    int done = REAL(fallocate)(fd, mode, offset, length);
    if (!done && is_known && !fstat(fd, &after) && after.st_size != before.st_size)
        record("resize", after.st_ino, after.st_size, 0, NULL, NULL, NULL, 0);
    return done;
}
ALIAS(fallocate, fallocate64, int, (int fd, int mode, off_t offset, off_t length), (fd, mode, offset, length))
int posix_fallocate(int fd, off_t offset, off_t length) { return fallocate(fd, 0, offset, length) ? errno : 0; }
ALIAS(posix_fallocate, posix_fallocate64, int, (int fd, off_t offset, off_t length), (fd, offset, length))

/* Names */

int mkdirat(int at, const char *name, mode_t mode) {
    char path[PATH_MAX];
    struct stat found;
    int done = REAL(mkdirat)(at, name, mode);
    if (!done && placed(at, name, path) && !lstat(path, &found))
        record("mkdir", found.st_ino, found.st_mode & 07777, 0, path, NULL, NULL, 0);
    return done;
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* A file that leaves the folder is removed from it; one that comes from elsewhere is not supported. */
static void renamed(int done, int has_from, const char *from, int has_to, const char *to) {
    if (done) return;
    if (has_from && has_to) record("rename", 0, 0, 0, from, to, NULL, 0);
    else if (has_from) record("unlink", 0, 0, 0, from, NULL, NULL, 0);
    else if (has_to) abort();
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
    char one[PATH_MAX], two[PATH_MAX];
    int has_one = placed(from_at, from, one), has_two = placed(to_at, to, two);
    if ((has_one || has_two) && (flags & RENAME_EXCHANGE)) abort();
    int done = REAL(renameat2)(from_at, from, to_at, to, flags);
    renamed(done, has_one, one, has_two, two);
    return done;
}
int renameat(int from_at, const char *from, int to_at, const char *to) {
    return renameat2(from_at, from, to_at, to, 0);
}
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
    char one[PATH_MAX], two[PATH_MAX];
    int done = REAL(linkat)(from_at, from, to_at, to, flags);
    if (!done && placed(from_at, from, one) && placed(to_at, to, two)) record("link", 0, 0, 0, one, two, NULL, 0);
    return done;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int symlinkat(const char *target, int at, const char *name) {
    char path[PATH_MAX];
    int done = REAL(symlinkat)(target, at, name);
    if (!done && placed(at, name, path)) record("symlink", 0, 0, 0, path, target, NULL, 0);
    return done;
}
int symlink(const char *target, const char *name) { return symlinkat(target, AT_FDCWD, name); }

int unlinkat(int at, const char *name, int flags) {
    char path[PATH_MAX];
    int is_placed = placed(at, name, path);
    int done = REAL(unlinkat)(at, name, flags);
    if (!done && is_placed) record("unlink", 0, 0, 0, path, NULL, NULL, 0);
    return done;
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

/* Modes */

int fchmod(int fd, mode_t mode) {
    char path[PATH_MAX];
    struct stat found;
    int done = REAL(fchmod)(fd, mode);
    if (!done && known(fd, path, &found)) record("chmod", found.st_ino, mode & 07777, 0, NULL, NULL, NULL, 0);
    return done;
}

int fchmodat(int at, const char *name, mode_t mode, int flags) {
    char path[PATH_MAX];
    struct stat found;
    int done = REAL(fchmodat)(at, name, mode, flags);
    if (!done && placed(at, name, path) && !stat(path, &found))
        record("chmod", found.st_ino, mode & 07777, 0, NULL, NULL, NULL, 0);
    return done;
}
int chmod(const char *name, mode_t mode) { return fchmodat(AT_FDCWD, name, mode, 0); }

/* What reaches the disk */

static int synced(const char *name, int fd, int done) {
    char path[PATH_MAX];
    struct stat found;
    if (!done && known(fd, path, &found)) record(name, found.st_ino, 0, 0, NULL, NULL, NULL, 0);
    return done;
}

int fsync(int fd) { return synced("fsync", fd, REAL(fsync)(fd)); }
int fdatasync(int fd) { return synced("fdatasync", fd, REAL(fdatasync)(fd)); }
int syncfs(int fd) { return synced("syncfs", fd, REAL(syncfs)(fd)); }

void sync(void) {
    REAL(sync)();
    record("syncfs", 0, 0, 0, NULL, NULL, NULL, 0);
}
