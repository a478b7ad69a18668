/* Emulated board: the same device core behind a pseudo-terminal, with one or two linear handles, each held by a hand.
 *
 *   board-hosted [--axes 1|2] [--velocity] [--emergency-stop] [--link PATH] [--hand-amplitude-m A]
 *                [--hand-frequency-hz F]
 *
 * Ticks follow the wall clock. Prints the name of the port, then a line whenever a motor switches on or off:
 * "<seconds> motor <axis> on|off", and "<seconds> host left" whenever the port is closed, which corresponds to dropping
 * DTR on a real board. With --emergency-stop the board has that input: SIGUSR1 opens its contact, SIGUSR2 closes it.
 */
#define _GNU_SOURCE
#include "../simulator/handle_model.h"
#include "../simulator/pty_link.h"
#include "board.h"
#include "device.h"

#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICKS_PER_MS = 4,
    TICK_NS = 1000000 / TICKS_PER_MS,
    COUNTS_PER_METRE = 100000,
    FULL_SCALE_MICRONEWTON = 4000000,
    MAX_LAG_NS = 20000000 /* after a longer stall, time is skipped instead of running fast */
};

typedef struct hosted_board {
    haptic_device device;
    haptic_device_config config;
    pty_link link;
    handle_model handle[HAPTIC_MAX_AXES];
    int16_t effort[HAPTIC_MAX_AXES];
    uint64_t ticks;
    int64_t start_ns;
    bool has_stop;
} hosted_board;

static hosted_board board;
static volatile sig_atomic_t ended, contact_open;

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

static void move_contact(int signal)
{
    contact_open = signal == SIGUSR1;
}

void board_send(const uint8_t *bytes, uint8_t length)
{
    pty_write(&board.link, bytes, length);
}

static double now_s(void)
{
    return (double)board.ticks / (1000.0 * TICKS_PER_MS);
}

void board_apply_effort(uint8_t axis, int16_t effort)
{
    if ((effort != 0) != (board.effort[axis] != 0))
        printf("%.6f motor %u %s\n", now_s(), axis, effort ? "on" : "off");
    board.effort[axis] = effort;
}

uint32_t board_micros(void)
{
    return (uint32_t)((monotonic_ns() - board.start_ns) / 1000);
}

/* Tick and main loop run in one thread here. */
void board_lock(void)
{
}

void board_unlock(void)
{
}

static haptic_axis_config linear_axis(uint8_t index)
{
    return (haptic_axis_config){
        .info = {
            .index = index,
            .kind = HAPTIC_LINEAR,
            .counts_numerator = COUNTS_PER_METRE,
            .counts_denominator = 1,
            .minimum = -COUNTS_PER_METRE / 10,
            .maximum = COUNTS_PER_METRE / 10,
            .full_scale_micro = FULL_SCALE_MICRONEWTON,
            .home_flags = HAPTIC_ABSOLUTE,
        },
        .track = { .wrap_counts = 0, .jump_counts = 250, .ticks_per_second = 1000 * TICKS_PER_MS },
        .limit_q15 = HAPTIC_FULL_SCALE,
    };
}

static void init_config(haptic_device_config *config)
{
    *config = (haptic_device_config){
        .firmware_version = 0x010200,
        .uid = { 'H', 'O', 'S', 'T', 'E', 'D', '0', '0' },
        .axes = 1,
        .capabilities = HAPTIC_CAN_STREAM | HAPTIC_SEES_LINK,
        .max_rate_hz = 1000,
        .ticks_per_ms = TICKS_PER_MS,
        .slew_q15_per_ms = 8192,
        .axis = { linear_axis(0), linear_axis(1) },
    };
}

static void set_hands(double amplitude_m, double frequency_hz)
{
    for (int i = 0; i < HAPTIC_MAX_AXES; i++) {
        board.handle[i] = handle_at_rest();
        board.handle[i].hand_amplitude_m = amplitude_m;
        board.handle[i].hand_frequency_hz = frequency_hz * (i + 1);
    }
}

static const char USAGE[] =
    "board-hosted [--axes 1|2] [--velocity] [--emergency-stop] [--link PATH] [--hand-amplitude-m A]\n"
    "             [--hand-frequency-hz F]\n";

/* Returns the path of the link, or NULL. Exits on an unknown option. */
static const char *read_options(int count, char **arguments)
{
    static const struct option known[] = {
        { "axes", required_argument, NULL, 'n' },          { "velocity", no_argument, NULL, 'v' },
        { "link", required_argument, NULL, 'l' },          { "hand-amplitude-m", required_argument, NULL, 'a' },
        { "hand-frequency-hz", required_argument, NULL, 'f' }, { "emergency-stop", no_argument, NULL, 'e' },
        { NULL, 0, NULL, 0 },
    };
    const char *link_path = NULL;
    double amplitude_m = 0.0, frequency_hz = 0.5;
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        switch (option) {
        case 'n': board.config.axes = (uint8_t)atoi(optarg); break;
        case 'v': board.config.capabilities |= HAPTIC_CAN_VELOCITY; break;
        case 'e': board.has_stop = true; break;
        case 'l': link_path = optarg; break;
        case 'a': amplitude_m = atof(optarg); break;
        case 'f': frequency_hz = atof(optarg); break;
        default: fputs(USAGE, stderr); exit(2);
        }
    }
    if (board.config.axes < 1 || board.config.axes > HAPTIC_MAX_AXES) {
        fputs("--axes must be 1 or 2\n", stderr);
        exit(2);
    }
    set_hands(amplitude_m, frequency_hz);
    return link_path;
}

static void tick(void)
{
    int32_t readings[HAPTIC_MAX_AXES];
    for (uint8_t i = 0; i < board.config.axes; i++) {
        double force_n = board.effort[i] * (FULL_SCALE_MICRONEWTON * 1e-6 / HAPTIC_FULL_SCALE);
        handle_advance(&board.handle[i], force_n, TICK_NS * 1e-9);
        readings[i] = (int32_t)floor(board.handle[i].position_m * COUNTS_PER_METRE);
    }
    board.ticks++;
    haptic_device_emergency_stop(&board.device, board.has_stop && contact_open);
    haptic_device_tick(&board.device, readings, (uint32_t)(board.ticks * TICK_NS / 1000));
}

static void run_due_ticks(void)
{
    int64_t due_ns = monotonic_ns() - board.start_ns;
    int64_t lag_ns = due_ns - (int64_t)board.ticks * TICK_NS;
    if (lag_ns > MAX_LAG_NS)
        board.start_ns += lag_ns - TICK_NS;
    while ((int64_t)(board.ticks + 1) * TICK_NS <= monotonic_ns() - board.start_ns)
        tick();
}

static void receive(void)
{
    uint8_t bytes[256];
    size_t count = pty_read(&board.link, bytes, sizeof bytes);
    for (size_t i = 0; i < count; i++)
        haptic_device_receive(&board.device, bytes[i]);
}

/* Drops the bytes that remain of a host that has closed the port, so that they do not precede those of the next one. */
static void drop_unread(void)
{
    uint8_t bytes[256];
    while (pty_read(&board.link, bytes, sizeof bytes) > 0) {}
}

static void lose_host(void)
{
    haptic_device_link_lost(&board.device);
    printf("%.6f host left\n", now_s());
}

static void serve(void)
{
    bool was_present = board.link.host_present;
    pty_wait(&board.link, board.start_ns + (int64_t)(board.ticks + 1) * TICK_NS);
    if (!board.link.host_present)
        drop_unread();
    if (was_present && !board.link.host_present)
        lose_host();
    run_due_ticks();
    if (board.link.host_present)
        receive();
    haptic_device_poll(&board.device);
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    init_config(&board.config);
    const char *link_path = read_options(count, arguments);
    if (!pty_open(&board.link, link_path)) {
        perror("cannot create a pseudo-terminal or its link");
        return 1;
    }
    signal(SIGINT, end);
    signal(SIGTERM, end);
    signal(SIGUSR1, move_contact);
    signal(SIGUSR2, move_contact);
    haptic_device_init(&board.device, &board.config);
    printf("port %s\n", board.link.name);
    board.start_ns = monotonic_ns();
    while (!ended)
        serve();
    pty_close(&board.link);
    return 0;
}
