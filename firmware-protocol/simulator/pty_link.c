#define _GNU_SOURCE
#include "pty_link.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { NANOSECONDS = 1000000000 };

int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NANOSECONDS + now.tv_nsec;
}

/* The settings persist after the slave is closed, as long as the master is open. */
static bool make_raw(const char *name)
{
    int slave = open(name, O_RDWR | O_NOCTTY);
    struct termios settings;
    bool done = slave >= 0 && tcgetattr(slave, &settings) == 0;
    if (done) {
        cfmakeraw(&settings);
        done = tcsetattr(slave, TCSANOW, &settings) == 0;
    }
    if (slave >= 0)
        close(slave);
    return done;
}

bool pty_open(pty_link *link, const char *symlink_path)
{
    *link = (pty_link){ .master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK), .symlink_path = symlink_path };
    if (link->master < 0 || grantpt(link->master) || unlockpt(link->master))
        return false;
    if (ptsname_r(link->master, link->name, sizeof link->name) || !make_raw(link->name))
        return false;
    if (!symlink_path)
        return true;
    unlink(symlink_path);
    return symlink(link->name, symlink_path) == 0;
}

void pty_close(pty_link *link)
{
    if (link->symlink_path)
        unlink(link->symlink_path);
    close(link->master);
}

static void sleep_until(int64_t until_ns)
{
    struct timespec until = { until_ns / NANOSECONDS, until_ns % NANOSECONDS };
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Waits for bytes, at most for `left` ns. Returns whether the slave is open; if it is not, this does not wait. */
static bool host_is_present(const pty_link *link, int64_t left)
{
    struct timespec wait = { 0, 0 };
    if (left > 0)
        wait = (struct timespec){ left / NANOSECONDS, left % NANOSECONDS };
    struct pollfd poll = { link->master, POLLIN, 0 };
    ppoll(&poll, 1, &wait, NULL);
    return !(poll.revents & POLLHUP);
}

void pty_wait(pty_link *link, int64_t until_ns)
{
    bool was_present = link->host_present;
    link->host_present = host_is_present(link, until_ns - monotonic_ns());
    if (link->host_present || was_present)
        return;
    sleep_until(until_ns);
    /* A host that has opened the port meanwhile gets replies to its first bytes. */
    link->host_present = host_is_present(link, 0);
}

size_t pty_read(pty_link *link, uint8_t *bytes, size_t capacity)
{
    ssize_t count = read(link->master, bytes, capacity);
    return count > 0 ? (size_t)count : 0;
}

void pty_write(pty_link *link, const uint8_t *bytes, size_t length)
{
    ssize_t count = link->host_present ? write(link->master, bytes, length) : 0;
    link->bytes_lost += length - (size_t)(count > 0 ? count : 0);
}
