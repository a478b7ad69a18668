/* The device core: session, arming, and every check between a command and the motor.
 *
 * It has two callers. The main loop passes received bytes and sends pending messages. The tick, called only from a
 * timer interrupt, samples, checks and drives: whatever the main loop or the host does, effort ends when commands stop.
 * The main loop accesses fields under "Shared" only between board_lock and board_unlock.
 */
#ifndef HAPTIC_DEVICE_H
#define HAPTIC_DEVICE_H

#include "haptic_protocol.h"
#include "track.h"

typedef struct haptic_axis_config {
    haptic_axis_info info;
    haptic_track_config track;
    uint16_t limit_q15; /* upper limit, whatever ARM requests */
} haptic_axis_config;

typedef struct haptic_device_config {
    uint32_t firmware_version;
    uint8_t uid[8];
    uint8_t axes;
    uint16_t capabilities;
    uint16_t max_rate_hz;
    uint8_t ticks_per_ms;
    uint16_t slew_q15_per_ms; /* upper limit, whatever ARM requests */
    haptic_axis_config axis[HAPTIC_MAX_AXES];
} haptic_device_config;

typedef enum haptic_mode {
    HAPTIC_SILENT,  /* after boot or a lost link: replies to HELLO only */
    HAPTIC_READY,   /* a session is open, no effort */
    HAPTIC_ARMED,   /* effort within limits, while commands arrive */
    HAPTIC_FAULTED  /* no effort until the next ARM */
} haptic_mode;

typedef struct haptic_axis {
    haptic_track track;
    int16_t target;  /* commanded, within the limit */
    int16_t applied; /* present effort of the motor */
    uint16_t limit;
} haptic_axis;

typedef struct haptic_device {
    const haptic_device_config *config;

    /* Main loop only. */
    haptic_decoder decoder;
    uint32_t nonce;
    uint8_t sequence;
    uint8_t acknowledged;

    /* Shared. */
    haptic_mode mode;
    haptic_axis axis[HAPTIC_MAX_AXES];
    haptic_fault fault;
    bool fault_unsent;
    bool commanded; /* a command arrived since ARM; from then on the watchdog counts */
    bool enabled, clamped, held, streaming, state_due;
    uint16_t watchdog_ms, watchdog_ticks, silent_ticks;
    uint16_t slew_per_tick;
    uint8_t slew_rest; /* number of ticks in each millisecond whose slew is one higher */
    uint8_t subtick;
    uint32_t sampled_at_us;
    bool stop_active; /* the emergency-stop input, as of the last tick */
} haptic_device;

/* Initialises a device, disarmed and silent. `config` must outlive it. */
void haptic_device_init(haptic_device *device, const haptic_device_config *config);

/* Main loop: processes one byte from the host. May call board_send. */
void haptic_device_receive(haptic_device *device, uint8_t byte);

/* Main loop: sends messages that the tick has left pending. */
void haptic_device_poll(haptic_device *device);

/* Main loop: the host has disconnected (DTR dropped, port closed). */
void haptic_device_link_lost(haptic_device *device);

/* Ends the stream and drops its state that is still to be sent. Requires the lock, or the timer interrupt. */
void haptic_device_end_stream(haptic_device *device);

/* Timer interrupt, before the tick: whether the emergency-stop input is active, or was since the last call. Latches the
 * fault. The board itself cuts its motors as soon as the input becomes active, and applies no effort until this call. A
 * board without the input does not need to call it. */
void haptic_device_emergency_stop(haptic_device *device, bool active);

/* Timer interrupt, ticks_per_ms times per millisecond: one reading per axis and their sampling time. */
void haptic_device_tick(haptic_device *device, const int32_t readings[], uint32_t sampled_at_us);

#endif
