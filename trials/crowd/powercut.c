/* Logs the data that each write replaces, until its file is synced, to simulate a power cut.
 *
 * The library is preloaded (LD_PRELOAD) into every process that writes below $POWERCUT_FOLDER.
 * Each file there has a log in $POWERCUT_LOG, named after its inode: 8 bytes with the valid length
 * of the log, then for each write a header and the replaced bytes. A sync empties the log. After a
 * kill -9 of all processes, powercut.py undoes the logged writes, which restores the files' state
 * on the disk. Creating, renaming or unlinking a file takes effect immediately.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

struct header { uint64_t at, old, new, size; };

static void name_of(char *path, const struct stat *file) {
    snprintf(path, 4096, "%s/%lu", getenv("POWERCUT_LOG"), (unsigned long)file->st_ino);
}

/* Opens and locks the log of a file below the folder; -1 for every other file. */
static int locked(int fd, struct stat *file) {
    char link[64], path[4096];
    const char *folder = getenv("POWERCUT_FOLDER");
    if (!folder || fstat(fd, file) || !S_ISREG(file->st_mode)) return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return -1;
    path[length] = 0;
    if (strncmp(path, folder, strlen(folder)) || path[strlen(folder)] != '/') return -1;
    name_of(path, file);
    mode_t mask = umask(0);
    int log = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    umask(mask);
    if (log < 0) abort();
    while (flock(log, LOCK_EX))
        if (errno != EINTR) abort();
    fstat(fd, file); /* its size, while no other process can change it */
    return log;
}

static ssize_t (*plain_pwrite)(int, const void *, size_t, off_t);
static int (*plain_ftruncate)(int, off_t);

__attribute__((constructor)) static void found(void) {
    plain_pwrite = (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    plain_ftruncate = (int (*)(int, off_t))dlsym(RTLD_NEXT, "ftruncate");
}

static void kept(int log, const void *bytes, size_t count, uint64_t at) {
    if (plain_pwrite(log, bytes, count, (off_t)at) != (ssize_t)count) abort();
}

/* Reads the data that a write replaces, if possible through the file's own fd: opening and closing
 * the file would drop this process's fcntl locks on it. SQLite would then consider its write-ahead
 * log unused, and unlink it while others write to it. */
static void replaced(int fd, char *bytes, uint64_t count, uint64_t at) {
    int reader = fd;
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if ((reader = open(link, O_RDONLY | O_CLOEXEC)) < 0) abort();
    }
    if (pread(reader, bytes, count, (off_t)at) != (ssize_t)count) abort();
    if (reader != fd) close(reader);
}

/* Logs that [at, at + new) of a file changes; `new` is 0 if the file is truncated at `at`. */
static void remember(int log, const struct stat *file, int fd, uint64_t at, uint64_t new) {
    uint64_t used = 0, size = (uint64_t)file->st_size;
    if (pread(log, &used, sizeof used, 0) != sizeof used || !used) used = sizeof used;
    uint64_t old = at >= size ? 0 : size - at;
    if (new && new < old) old = new;
    struct header header = {at, old, new, size};
    kept(log, &header, sizeof header, used);
    used += sizeof header;
    if (old) {
        char *bytes = malloc(old);
        if (!bytes) abort();
        replaced(fd, bytes, old, at);
        kept(log, bytes, old, used);
        free(bytes);
        used += old;
    }
    kept(log, &used, sizeof used, 0); /* from now on, the record is valid */
}

static int noted(int fd, int64_t at, uint64_t new, int cut) {
    struct stat file;
    int log = (new || cut) ? locked(fd, &file) : -1;
    if (log < 0) return -1;
    if (at < 0) at = (fcntl(fd, F_GETFL) & O_APPEND) ? file.st_size : lseek(fd, 0, SEEK_CUR);
    remember(log, &file, fd, (uint64_t)at, new);
    return log;
}

static size_t total(const struct iovec *parts, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += parts[i].iov_len;
    return bytes;
}

#define DONE(log, call) do { __typeof__(call) done = call; if (log >= 0) close(log); return done; } while (0)

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
    int log = noted(fd, at, count, 0);
    DONE(log, plain_pwrite(fd, bytes, count, at));
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at) {
    return pwrite(fd, bytes, count, at);
}
ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(ssize_t, "write", int, const void *, size_t);
    int log = noted(fd, -1, count, 0);
    DONE(log, real(fd, bytes, count));
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    int log = noted(fd, -1, total(parts, count), 0);
    DONE(log, real(fd, parts, count));
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
    REAL(ssize_t, "pwritev", int, const struct iovec *, int, off_t);
    int log = noted(fd, at, total(parts, count), 0);
    DONE(log, real(fd, parts, count, at));
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t at) {
    return pwritev(fd, parts, count, at);
}
int ftruncate(int fd, off_t size) {
    int log = noted(fd, size, 0, 1);
    DONE(log, plain_ftruncate(fd, size));
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

static int synced(int fd, int (*sync_it)(int)) {
    struct stat file;
    int log = locked(fd, &file), done = sync_it(fd);
    if (log >= 0) {
        if (!done) plain_ftruncate(log, 0);
        close(log);
    }
    return done;
}
int fsync(int fd) {
    REAL(int, "fsync", int);
    return synced(fd, real);
}
int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    return synced(fd, real);
}

/* A free inode may be reused for another file, so its log is removed. */
static void forgotten(const char *file_path) {
    struct stat file;
    char path[4096];
    if (!getenv("POWERCUT_LOG") || stat(file_path, &file) || file.st_nlink > 1) return;
    name_of(path, &file);
    REAL(int, "unlink", const char *);
    real(path);
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    forgotten(path);
    return real(path);
}
int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    forgotten(to);
    return real(from, to);
}
