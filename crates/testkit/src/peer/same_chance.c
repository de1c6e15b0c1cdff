/* An operating system that repeats itself: all random bytes are 7. What a
 * program is given is noted in the file that TENURE_SAME_CHANCE names. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void note(void) {
    const char *path = getenv("TENURE_SAME_CHANCE");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (file >= 0) {
        (void)!write(file, "asked\n", 6);
        close(file);
    }
}

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    (void)flags;
    memset(bytes, 7, count);
    note();
    return (ssize_t)count;
}

int getentropy(void *bytes, size_t count) {
    getrandom(bytes, count, 0);
    return 0;
}
