/* A disk that a test can fill: while the file that TENURE_FULL_DISK names is there, nothing more
 * is written to any file. Logs (stdout, stderr), pipes and sockets are not on it. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_full(int file) {
    const char *flag = getenv("TENURE_FULL_DISK");
    int before = errno;
    struct stat found;
    int is = file > 2 && flag && access(flag, F_OK) == 0 && fstat(file, &found) == 0
        && S_ISREG(found.st_mode);
    errno = is ? ENOSPC : before;
    return is;
}

ssize_t write(int file, const void *bytes, size_t count) {
    return is_full(file) ? -1 : syscall(SYS_write, file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    return is_full(file) ? -1 : syscall(SYS_pwrite64, file, bytes, count, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t at) {
    return pwrite(file, bytes, count, at);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    return is_full(file) ? -1 : syscall(SYS_writev, file, parts, count);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) {
    return is_full(file) ? -1 : syscall(SYS_pwritev, file, parts, count, at, 0);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off_t at) {
    return pwritev(file, parts, count, at);
}

int posix_fallocate(int file, off_t at, off_t count) {
    if (is_full(file)) return ENOSPC;
    return syscall(SYS_fallocate, file, 0, at, count) == 0 ? 0 : errno;
}

int posix_fallocate64(int file, off_t at, off_t count) {
    return posix_fallocate(file, at, count);
}
