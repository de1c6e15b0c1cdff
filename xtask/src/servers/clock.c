/* A wall clock that a test can set, for servers that run with a C library of their own; where
 * TENURE_ALL_CLOCKS is set, the monotonic clocks go with it.
 *
 * libfaketime asks that library for its functions when it starts, and a server whose allocator asks
 * for the time before that hangs. This has nothing to start: it is asked by the server, and asks the
 * kernel. It reads libfaketime's file, of which it knows what the tests write: an offset in seconds,
 * such as "+3.000s". */

struct moment { long seconds, part; };

extern char **environ;

static long kernel(long call, long a, long b, long c, long d) {
#if defined(__x86_64__)
    register long fourth __asm__("r10") = d;
    long answer;
    __asm__ volatile("syscall" : "=a"(answer)
                     : "a"(call), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return answer;
#elif defined(__aarch64__)
    register long number __asm__("x8") = call;
    register long x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(number), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#else
#error "the kernel's numbers of this architecture are not known here"
#endif
}

#if defined(__x86_64__)
enum { READ = 0, CLOSE = 3, CLOCK_GETTIME = 228, OPENAT = 257 };
#else
enum { READ = 63, CLOSE = 57, CLOCK_GETTIME = 113, OPENAT = 56 };
#endif
enum { WALL = 0, STEADY = 1, STEADY_RAW = 4, WALL_COARSE = 5, STEADY_COARSE = 6, BOOT = 7 };
enum { HERE = -100, THOUSAND = 1000, BILLION = 1000000000 };

static const char *variable(const char *name) {
    for (char **entry = environ; entry && *entry; entry++) {
        unsigned at = 0;
        while (name[at] && (*entry)[at] == name[at]) at++;
        if (!name[at]) return *entry + at;
    }
    return 0;
}

/* Nanoseconds to add. No file, or nothing in it, is the true time. */
static long offset(void) {
    char text[32] = {0};
    const char *path = variable("FAKETIME_TIMESTAMP_FILE=");
    if (!path) return 0;
    long opened = kernel(OPENAT, HERE, (long)path, 0, 0);
    if (opened < 0) return 0;
    kernel(READ, opened, (long)text, sizeof text - 1, 0);
    kernel(CLOSE, opened, 0, 0, 0);
    const char *at = text;
    long sign = *at == '-' ? -1 : 1, whole = 0, part = 0, unit = BILLION;
    if (*at == '-' || *at == '+') at++;
    for (; *at >= '0' && *at <= '9'; at++) whole = whole * 10 + (*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++) part += (*at - '0') * (unit /= 10);
    return sign * (whole * BILLION + part);
}

/* Not the time that a process or a thread has used. */
static int is_ours(int clock) {
    if (clock == WALL || clock == WALL_COARSE) return 1;
    int is_steady = clock == STEADY || clock == STEADY_RAW || clock == STEADY_COARSE || clock == BOOT;
    return is_steady && variable("TENURE_ALL_CLOCKS=");
}

int clock_gettime(int clock, struct moment *now) {
    long failed = kernel(CLOCK_GETTIME, clock, (long)now, 0, 0);
    if (failed) return -1;
    if (is_ours(clock)) {
        long all = now->seconds * BILLION + now->part + offset();
        now->seconds = all / BILLION;
        now->part = all % BILLION;
    }
    return 0;
}

int gettimeofday(struct moment *now, void *zone) {
    (void)zone;
    int failed = clock_gettime(WALL, now);
    now->part /= THOUSAND;
    return failed;
}

long time(long *where) {
    struct moment now;
    clock_gettime(WALL, &now);
    if (where) *where = now.seconds;
    return now.seconds;
}
