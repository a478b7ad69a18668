/* A serial port made of software: the far end of a pseudo-terminal, and a name to find the near end by. */
#ifndef PTY_LINK_H
#define PTY_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pty_link {
    int master;
    char name[128];
    const char *symlink_path; /* or NULL */
    bool host_present;        /* someone has the near end open */
    unsigned long bytes_lost; /* written while nobody read */
} pty_link;

/* Opens a pseudo-terminal in raw mode and, with a path, a symbolic link to it. False with errno set. */
bool pty_open(pty_link *link, const char *symlink_path);

/* Removes the link and closes. */
void pty_close(pty_link *link);

/* Waits at most until the monotonic clock shows `until_ns` for bytes; updates host_present. */
void pty_wait(pty_link *link, int64_t until_ns);

/* As many bytes as are there, never waiting. */
size_t pty_read(pty_link *link, uint8_t *bytes, size_t capacity);

/* Writes what fits, never waiting. */
void pty_write(pty_link *link, const uint8_t *bytes, size_t length);

int64_t monotonic_ns(void);

#endif
