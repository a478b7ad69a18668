/* An emulated serial port: the master of a pseudo-terminal, and the name of its slave. */
#ifndef PTY_LINK_H
#define PTY_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pty_link {
    int master;
    char name[128];
    const char *symlink_path; /* or NULL */
    bool host_present;        /* the slave is open */
    unsigned long bytes_lost; /* written but not accepted, or without a host */
} pty_link;

/* Opens a pseudo-terminal in raw mode and, given a path, creates a symbolic link to it. On failure returns false and
 * sets errno. */
bool pty_open(pty_link *link, const char *symlink_path);

/* Removes the link and closes the pseudo-terminal. */
void pty_close(pty_link *link);

/* Waits for bytes or the end of the host, at most until the monotonic time `until_ns`. Updates host_present. */
void pty_wait(pty_link *link, int64_t until_ns);

/* Reads the available bytes without waiting. */
size_t pty_read(pty_link *link, uint8_t *bytes, size_t capacity);

/* Writes as many bytes as fit, without waiting. */
void pty_write(pty_link *link, const uint8_t *bytes, size_t length);

int64_t monotonic_ns(void);

#endif
