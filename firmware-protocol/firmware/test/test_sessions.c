/* Runs the device core through the sessions of the specification: test-sessions FILE... PROTOCOL.md, section 9, defines
 * their format and the device that they describe. */
#include "test_board.h"

enum { MAX_LINE = 512, OWN_SLEW = 8192, RANGE = 10000, ANY_MOTION = 1000000 };

static const char *file_name;
static int line_number, taken;
static bool stop_active;

#define EXPECT(claim)                                                                         \
    do {                                                                                      \
        if (!(claim)) {                                                                       \
            fprintf(stderr, "%s:%d: does not hold: %s\n", file_name, line_number, #claim);    \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

static void boot_session(uint8_t axes, bool streams)
{
    boot(axes);
    taken = 0;
    stop_active = false;
    config.capabilities = streams ? HAPTIC_CAN_STREAM : 0;
    config.slew_q15_per_ms = OWN_SLEW;
    for (int i = 0; i < HAPTIC_MAX_AXES; i++) {
        config.axis[i].limit_q15 = HAPTIC_FULL_SCALE;
        config.axis[i].track.jump_counts = ANY_MOTION;
        config.axis[i].info.minimum = -RANGE;
        config.axis[i].info.maximum = RANGE;
    }
}

static long number_of(char **at)
{
    char *end;
    long value = strtol(*at, &end, 10);
    EXPECT(end != *at);
    *at = end;
    return value;
}

/* The byte at `*at`, which moves past it; false at the end of the line. */
static bool next_byte(char **at, uint8_t *byte)
{
    char *end;
    *byte = (uint8_t)strtol(*at, &end, 16);
    bool found = end != *at;
    *at = end;
    return found;
}

/* A frame of the host, or the end of the session, comes after all messages that the device has sent. */
static void expect_all_taken(void)
{
    EXPECT(taken == board.sent_count);
    board.sent_count = taken = 0;
}

static void from_host(char *at)
{
    expect_all_taken();
    uint8_t bytes[2 + HAPTIC_PAYLOAD_MAX], count = 0;
    while (count < sizeof bytes && next_byte(&at, &bytes[count]))
        count++;
    EXPECT(count >= 2);
    deliver(bytes[0], bytes[1], &bytes[2], (uint8_t)(count - 2));
}

/* Compares the oldest message not compared yet. ".." is any byte, "..." any number of bytes. */
static void from_device(char *at)
{
    EXPECT(taken < board.sent_count);
    const test_message *message = &board.sent[taken++];
    uint8_t expected;
    EXPECT(next_byte(&at, &expected) && message->type == expected);
    for (uint8_t i = 0; i < message->length; i++) {
        at += strspn(at, " ");
        if (strncmp(at, "...", 3) == 0)
            return;
        if (strncmp(at, "..", 2) == 0)
            at += 2;
        else
            EXPECT(next_byte(&at, &expected) && message->payload[i] == expected);
    }
    EXPECT(at[strspn(at, " .")] == 0);
}

static void run_ticks(int count)
{
    for (; count > 0; count--) {
        haptic_device_emergency_stop(&device, stop_active);
        ticks(1);
    }
}

static void set_stop(char *at)
{
    stop_active = number_of(&at) != 0;
    if (stop_active)
        haptic_device_emergency_stop(&device, true);
}

static void start_session(char *at)
{
    expect_all_taken();
    uint8_t axes = (uint8_t)number_of(&at);
    boot_session(axes, strstr(at, "stream") != NULL);
}

static void run_line(char *line)
{
    char *at = line + strcspn(line, " ");
    if (line[0] == '<')
        from_device(at);
    else if (line[0] == '>')
        from_host(at);
    else if (strncmp(line, "axes ", 5) == 0)
        start_session(at);
    else if (strncmp(line, "wait ", 5) == 0)
        run_ticks((int)number_of(&at) * TICKS_PER_MS);
    else if (strncmp(line, "emergency_stop ", 15) == 0)
        set_stop(at);
    else
        for (uint8_t i = 0; i < config.axes; i++) {
            bool is_effort = strncmp(line, "effort ", 7) == 0;
            EXPECT(is_effort || strncmp(line, "position ", 9) == 0);
            long value = number_of(&at);
            EXPECT(!is_effort || board.effort[i] == value);
            readings[i] = is_effort ? readings[i] : (int32_t)value;
        }
}

static void run_session(const char *path)
{
    char line[MAX_LINE];
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(2);
    }
    file_name = path;
    for (line_number = 1; fgets(line, sizeof line, file); line_number++) {
        line[strcspn(line, "#\n")] = 0;
        if (line[0] != 0)
            run_line(line);
    }
    expect_all_taken();
    fclose(file);
}

int main(int count, char **arguments)
{
    CHECK(count > 1);
    for (int i = 1; i < count; i++)
        run_session(arguments[i]);
    printf("sessions: %d passed\n", count - 1);
    return 0;
}
