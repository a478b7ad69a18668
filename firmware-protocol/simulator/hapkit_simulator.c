/* Runs the Hapkit firmware image on a simulated ATmega328P, in real time.
 *
 *   hapkit-simulator IMAGE.elf [--link PATH] [--hand-amplitude-m A] [--hand-frequency-hz F] [--seconds S]
 *                    [--reset-on-open] [--stop-contact] [--trace FILE.csv]
 *
 * The chip's UART is the master of a pseudo-terminal. PWM and direction pin drive a modelled handle, whose position is
 * fed back as a voltage on A2. Prints the name of the port, then a line whenever the motor pin switches on or off:
 * "<simulated seconds> motor 0 on|off", and for off the time since the chip's last received byte. The trace has one row
 * per simulated millisecond: time, handle position, motor force according to the pins. With --reset-on-open the chip
 * resets when a host opens the port, like boards that connect DTR to reset. With --stop-contact a closed contact
 * connects pin 2 to ground: SIGUSR1 opens it, SIGUSR2 closes it, and the next "off" has the time since it opened.
 * Without it nothing is connected to the pin. On a slow machine, time that cannot be made
 * up is skipped and reported at the end.
 */
#define _GNU_SOURCE
#include "handle_model.h"
#include "pty_link.h"

#include <avr_adc.h>
#include <avr_ioport.h>
#include <avr_uart.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <sim_avr.h>
#include <sim_elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLOCK_HZ = 16000000,
    SLICE_CYCLES = CLOCK_HZ / 20000,  /* 50 microseconds: step of the model and of the real-time pacing */
    MAX_LAG_NS = 20000000,
    QUEUE_SIZE = 4096,                /* buffer of a USB bridge; a power of two */

    SUPPLY_MV = 5000,
    ADC_TOP = 1023,
    SENSOR_SPAN = 980,
    SENSOR_OFFSET = 22,               /* lowest reading of the rotating magnet */
    START_COUNT = 400,
    STOP_PIN = 2,                     /* of port D */
    PHASE_STEP = 307,                 /* cycles; has no common factor with a slice */

    /* Data addresses of the ATmega328P. */
    PORTB_AT = 0x25,
    DDRD_AT = 0x2A,
    PORTD_AT = 0x2B,
    TCCR0A_AT = 0x44,
    OCR0B_AT = 0x48
};

static const double METRE_PER_COUNT = 14e-6;
static const double FULL_SCALE_N = 6.342857;

typedef struct simulation {
    avr_t *avr;
    pty_link link;
    handle_model handle;
    avr_irq_t *uart_in, *sensor;
    uint8_t queue[QUEUE_SIZE];
    unsigned head, tail;
    bool uart_ready;
    uint8_t outgoing[256];
    size_t outgoing_length;
    /* Cycles from the first bit of a frame received to the last of its reply. */
    avr_cycle_count_t request_at, longest_reply, total_reply;
    unsigned long replies;
    avr_cycle_count_t received_at;       /* cycle of the last byte received by the chip */
    bool reply_pending;
    bool motor_was_on;
    bool has_contact, contact_was_open, stop_pending;
    unsigned contact_phase;              /* cycles from the start of a slice to the last move of the contact */
    avr_cycle_count_t opened_at;         /* cycle in which the contact opened, if stop_pending */
    FILE *trace;
    bool reset_on_open;
    int64_t start_ns, skipped_ns;
    double end_s;
} simulation;

static simulation sim;
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

/* ---- UART ---- */

static void flush_outgoing(void)
{
    if (sim.outgoing_length > 0)
        pty_write(&sim.link, sim.outgoing, sim.outgoing_length);
    sim.outgoing_length = 0;
}

/* In simulated time, which measures the firmware and not this machine. */
static void record_reply(void)
{
    if (!sim.reply_pending)
        return;
    avr_cycle_count_t took = sim.avr->cycle - sim.request_at;
    sim.reply_pending = false;
    sim.replies++;
    sim.total_reply += took;
    sim.longest_reply = took > sim.longest_reply ? took : sim.longest_reply;
}

/* A delimiter completes a frame, so it is written to the host then. */
static void on_byte_out(struct avr_irq_t *irq, uint32_t value, void *param)
{
    (void)irq, (void)param;
    sim.outgoing[sim.outgoing_length++] = (uint8_t)value;
    if (value == 0)
        record_reply();
    if (value == 0 || sim.outgoing_length == sizeof sim.outgoing)
        flush_outgoing();
}

static void on_ready(struct avr_irq_t *irq, uint32_t value, void *param)
{
    (void)irq, (void)value, (void)param;
    sim.uart_ready = true;
}

static void on_full(struct avr_irq_t *irq, uint32_t value, void *param)
{
    (void)irq, (void)value, (void)param;
    sim.uart_ready = false;
}

static void feed_uart(void)
{
    if (sim.uart_ready && sim.tail != sim.head && !sim.reply_pending) {
        sim.reply_pending = true;
        sim.request_at = sim.avr->cycle;
    }
    while (sim.uart_ready && sim.tail != sim.head) {
        sim.received_at = sim.avr->cycle;
        avr_raise_irq(sim.uart_in, sim.queue[sim.tail++ % QUEUE_SIZE]);
    }
}

static void read_from_host(void)
{
    uint8_t bytes[256];
    size_t space = QUEUE_SIZE - (sim.head - sim.tail);
    size_t count = pty_read(&sim.link, bytes, space < sizeof bytes ? space : sizeof bytes);
    for (size_t i = 0; i < count; i++)
        sim.queue[sim.head++ % QUEUE_SIZE] = bytes[i];
}

static void connect_uart(void)
{
    uint32_t flags = 0;
    avr_ioctl(sim.avr, AVR_IOCTL_UART_GET_FLAGS('0'), &flags);
    flags &= ~(uint32_t)(AVR_UART_FLAG_STDIO | AVR_UART_FLAG_POLL_SLEEP);
    avr_ioctl(sim.avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    sim.uart_in = avr_io_getirq(sim.avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    sim.uart_ready = true;
    avr_irq_t *irqs = avr_io_getirq(sim.avr, AVR_IOCTL_UART_GETIRQ('0'), 0);
    avr_irq_register_notify(irqs + UART_IRQ_OUTPUT, on_byte_out, NULL);
    avr_irq_register_notify(irqs + UART_IRQ_OUT_XON, on_ready, NULL);
    avr_irq_register_notify(irqs + UART_IRQ_OUT_XOFF, on_full, NULL);
}

/* ---- Handle ---- */

/* Signed duty of the motor pin; zero unless the pin is an output and driven by the timer. */
static int motor_duty(void)
{
    const uint8_t *data = sim.avr->data;
    bool driven = (data[DDRD_AT] & 1 << 5) && (data[TCCR0A_AT] & 1 << 5);
    int duty = driven ? data[OCR0B_AT] : 0;
    return data[PORTB_AT] & 1 ? duty : -duty;
}

static double now_s(void)
{
    return (double)sim.avr->cycle / CLOCK_HZ;
}

static void report_motor(int duty)
{
    bool on = duty != 0;
    if (on && !sim.motor_was_on)
        printf("%.6f motor 0 on\n", now_s());
    if (!on && sim.motor_was_on)
        printf("%.6f motor 0 off after a silence of %.2f ms\n", now_s(),
               (double)(sim.avr->cycle - sim.received_at) / (CLOCK_HZ / 1000));
    sim.motor_was_on = on;
}

/* Reports a motor that the emergency stop cut, to the cycle. */
static void report_stop(void)
{
    if (motor_duty() != 0)
        return;
    printf("%.6f motor 0 off %.2f us after the contact opened\n", now_s(),
           (double)(sim.avr->cycle - sim.opened_at) / (CLOCK_HZ / 1000000));
    sim.motor_was_on = sim.stop_pending = false;
}

/* Torque grows with the square of the duty. */
static double motor_force_n(int duty)
{
    double fraction = duty / 255.0;
    return FULL_SCALE_N * fraction * fabs(fraction);
}

static void update_sensor(void)
{
    long count = lround(sim.handle.position_m / METRE_PER_COUNT) + START_COUNT;
    long reading = ((count % SENSOR_SPAN) + SENSOR_SPAN) % SENSOR_SPAN + SENSOR_OFFSET;
    /* Rounded up, since the converter rounds down. */
    avr_raise_irq(sim.sensor, (uint32_t)((reading * SUPPLY_MV + ADC_TOP - 1) / ADC_TOP));
}

static void write_trace(double force_n)
{
    static long rows;
    if (!sim.trace || now_s() * 1000.0 < (double)rows)
        return;
    rows++;
    fprintf(sim.trace, "%.6f,%.7f,0,%.6f,0\n", now_s(), sim.handle.position_m, force_n);
}

static void advance_handle(void)
{
    int duty = motor_duty();
    report_motor(duty);
    write_trace(motor_force_n(duty));
    handle_advance(&sim.handle, motor_force_n(duty), (double)SLICE_CYCLES / CLOCK_HZ);
    update_sensor();
}

/* ---- Time ---- */

/* simavr adds the slept cycles itself; real time is kept between slices. */
static void pass_sleep(avr_t *avr, avr_cycle_count_t cycles)
{
    (void)avr, (void)cycles;
}

static int64_t wall_ns_of(avr_cycle_count_t cycle)
{
    return sim.start_ns + (int64_t)(cycle * 1000 / (CLOCK_HZ / 1000000));
}

/* Returns false if the firmware ended or crashed. */
static bool run_slice(avr_cycle_count_t until)
{
    while (sim.avr->cycle < until) {
        int state = avr_run(sim.avr);
        if (state == cpu_Done || state == cpu_Crashed)
            return false;
        if (sim.uart_ready && sim.tail != sim.head)
            feed_uart();
        if (sim.stop_pending)
            report_stop();
    }
    return true;
}

/* ---- Contact ---- */

/* An open contact leaves the pin to its pull-up. */
static void connect_contact(bool open)
{
    bool pulled_up = sim.avr->data[PORTD_AT] & 1 << STOP_PIN;
    avr_ioport_external_t external = { .name = 'D', .mask = open ? 0 : 1 << STOP_PIN, .value = 0 };
    avr_ioctl(sim.avr, AVR_IOCTL_IOPORT_SET_EXTERNAL('D'), &external);
    avr_raise_irq(avr_io_getirq(sim.avr, AVR_IOCTL_IOPORT_GETIRQ('D'), STOP_PIN), open && pulled_up);
}

/* Moves the contact on request, each time at another cycle of the slice, since slices divide the tick. */
static void update_contact(void)
{
    bool open = contact_open;
    if (!sim.has_contact || open == sim.contact_was_open)
        return;
    sim.contact_was_open = open;
    sim.contact_phase = (sim.contact_phase + PHASE_STEP) % SLICE_CYCLES;
    run_slice(sim.avr->cycle + sim.contact_phase);
    sim.stop_pending = open && motor_duty() != 0;
    sim.opened_at = sim.avr->cycle;
    printf("%.6f contact %s\n", now_s(), open ? "opened" : "closed");
    connect_contact(open);
}

/* ---- Pacing ---- */

static void pace(void)
{
    int64_t due_ns = wall_ns_of(sim.avr->cycle);
    int64_t lag_ns = monotonic_ns() - due_ns;
    if (lag_ns > MAX_LAG_NS) {
        sim.start_ns += lag_ns;
        sim.skipped_ns += lag_ns;
    }
    bool was_present = sim.link.host_present;
    pty_wait(&sim.link, due_ns);
    if (sim.reset_on_open && !was_present && sim.link.host_present) {
        printf("%.6f reset\n", now_s());
        avr_reset(sim.avr);
    }
}

static void print_summary(void)
{
    const double us = 1e6 / CLOCK_HZ;
    double mean_us = sim.replies ? (double)sim.total_reply * us / (double)sim.replies : 0.0;
    fprintf(stderr, "%.3f s simulated, %.3f s skipped, %lu bytes without a reader\n", now_s(), sim.skipped_ns * 1e-9,
            sim.link.bytes_lost);
    fprintf(stderr, "%lu replies, first bit in to last byte out: mean %.0f us, longest %.0f us of simulated time\n",
            sim.replies, mean_us, (double)sim.longest_reply * us);
}

static int run(void)
{
    avr_cycle_count_t until = 0;
    sim.start_ns = monotonic_ns();
    while (!ended && (sim.end_s <= 0.0 || now_s() < sim.end_s)) {
        read_from_host();
        feed_uart();
        update_contact();
        until += SLICE_CYCLES;
        if (!run_slice(until)) {
            fprintf(stderr, "the firmware stopped at %.6f s\n", now_s());
            return 1;
        }
        advance_handle();
        pace();
    }
    print_summary();
    return 0;
}

/* ---- Start ---- */

static bool load(const char *path)
{
    elf_firmware_t firmware;
    memset(&firmware, 0, sizeof firmware);
    if (elf_read_firmware(path, &firmware) != 0)
        return false;
    sim.avr = avr_make_mcu_by_name("atmega328p");
    if (!sim.avr)
        return false;
    avr_init(sim.avr);
    firmware.frequency = CLOCK_HZ;
    firmware.vcc = firmware.avcc = firmware.aref = SUPPLY_MV;
    avr_load_firmware(sim.avr, &firmware);
    sim.avr->sleep = pass_sleep;
    sim.avr->log = LOG_ERROR;
    return true;
}

static const char USAGE[] = "hapkit-simulator IMAGE.elf [--link PATH] [--hand-amplitude-m A] [--hand-frequency-hz F]\n"
                            "                 [--seconds S] [--reset-on-open] [--stop-contact] [--trace FILE.csv]\n";

static void open_trace(const char *path)
{
    sim.trace = fopen(path, "w");
    if (!sim.trace) {
        perror(path);
        exit(1);
    }
    fputs("t_s,x_m,y_m,force_x_n,force_y_n\n", sim.trace);
}

/* Returns the path of the link, or NULL. Exits on an unknown option. */
static const char *read_options(int count, char **arguments)
{
    static const struct option known[] = {
        { "link", required_argument, NULL, 'l' },    { "hand-amplitude-m", required_argument, NULL, 'a' },
        { "seconds", required_argument, NULL, 's' }, { "hand-frequency-hz", required_argument, NULL, 'f' },
        { "reset-on-open", no_argument, NULL, 'r' }, { "trace", required_argument, NULL, 't' },
        { "stop-contact", no_argument, NULL, 'c' },  { NULL, 0, NULL, 0 },
    };
    const char *link_path = NULL;
    sim.handle = handle_at_rest();
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        switch (option) {
        case 'l': link_path = optarg; break;
        case 'a': sim.handle.hand_amplitude_m = atof(optarg); break;
        case 'f': sim.handle.hand_frequency_hz = atof(optarg); break;
        case 's': sim.end_s = atof(optarg); break;
        case 'r': sim.reset_on_open = true; break;
        case 'c': sim.has_contact = true; break;
        case 't': open_trace(optarg); break;
        default: fputs(USAGE, stderr); exit(2);
        }
    }
    return link_path;
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *link_path = read_options(count, arguments);
    if (optind >= count || !load(arguments[optind])) {
        fprintf(stderr, "missing or unreadable firmware image for the ATmega328P\n%s", USAGE);
        return 2;
    }
    if (!pty_open(&sim.link, link_path)) {
        perror("cannot create a pseudo-terminal or its link");
        return 1;
    }
    signal(SIGINT, end);
    signal(SIGTERM, end);
    signal(SIGUSR1, move_contact);
    signal(SIGUSR2, move_contact);
    connect_uart();
    if (sim.has_contact)
        connect_contact(false);
    sim.sensor = avr_io_getirq(sim.avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_ADC2);
    update_sensor();
    printf("port %s\n", sim.link.name);
    int result = run();
    pty_close(&sim.link);
    if (sim.trace)
        fclose(sim.trace);
    avr_terminate(sim.avr);
    return result;
}
