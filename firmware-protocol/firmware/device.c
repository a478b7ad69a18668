/* Sessions and messages, in the main loop. The code of the timer interrupt is in tick.c. */
#include "device.h"
#include "board.h"

#include <string.h>

static void send(haptic_device *device, uint8_t type, const uint8_t *payload, uint8_t length)
{
    uint8_t wire[HAPTIC_WIRE_MAX];
    board_send(wire, haptic_encode(type, device->sequence++, payload, length, wire));
}

static void send_fault(haptic_device *device, haptic_fault fault)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    send(device, HAPTIC_FAULT, payload, haptic_fault_pack(&fault, payload));
}

static void reject(haptic_device *device, uint8_t code, uint32_t detail)
{
    send_fault(device, (haptic_fault){ code, detail });
}

static void reject_length(haptic_device *device, const haptic_frame *frame)
{
    reject(device, HAPTIC_REFUSED_LENGTH, (uint32_t)frame->type << 8 | frame->length);
}

static uint8_t status_bits(const haptic_device *device)
{
    bool armed = device->mode == HAPTIC_ARMED;
    uint8_t status = 0;
    status |= armed ? HAPTIC_STATUS_ARMED : 0;
    status |= armed && device->enabled ? HAPTIC_STATUS_ENABLED : 0;
    status |= device->mode == HAPTIC_FAULTED ? HAPTIC_STATUS_FAULT : 0;
    status |= device->clamped ? HAPTIC_STATUS_CLAMPED : 0;
    status |= device->held ? HAPTIC_STATUS_HELD : 0;
    status |= device->config->capabilities & HAPTIC_CAN_VELOCITY ? HAPTIC_STATUS_VELOCITY : 0;
    for (uint8_t i = 0; i < device->config->axes; i++)
        status |= device->axis[i].applied != device->axis[i].target ? HAPTIC_STATUS_SLEWING : 0;
    return status;
}

/* Sends the fault that is due, then a state, if it is an answer or due in a stream. The fault precedes the first state
 * that shows it, so that the host knows its cause. Both are taken under one lock, so that no streamed state follows the
 * fault that ends the stream. */
static void send_due(haptic_device *device, bool answers)
{
    haptic_state state = { .acknowledged = device->acknowledged, .axes = device->config->axes };
    board_lock();
    bool fault_due = device->fault_unsent, streamed = device->state_due;
    if (!fault_due && !streamed && !answers) {
        board_unlock();
        return;
    }
    haptic_fault fault = device->fault;
    device->fault_unsent = false;
    device->state_due = false;
    state.status = status_bits(device) | (streamed ? HAPTIC_STATUS_STREAMED : 0);
    state.sampled_at_us = device->sampled_at_us;
    for (uint8_t i = 0; i < state.axes; i++) {
        state.position[i] = device->axis[i].track.position;
        state.velocity[i] = device->axis[i].track.velocity;
    }
    board_unlock();
    if (fault_due)
        send_fault(device, fault);
    if (!answers && !streamed)
        return;
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    send(device, HAPTIC_STATE, payload, haptic_state_pack(&state, payload));
}

/* Ends all effort. Requires the lock. */
static void end_effort(haptic_device *device)
{
    device->enabled = false;
    device->clamped = false;
    for (uint8_t i = 0; i < device->config->axes; i++) {
        device->axis[i].target = 0;
        device->axis[i].applied = 0;
        board_apply_effort(i, 0);
    }
}

static void change_mode(haptic_device *device, haptic_mode mode)
{
    board_lock();
    end_effort(device);
    device->mode = mode;
    haptic_device_end_stream(device);
    device->fault_unsent = false;
    board_unlock();
}

static haptic_mode current_mode(haptic_device *device)
{
    board_lock();
    haptic_mode mode = device->mode;
    board_unlock();
    return mode;
}

static void send_hello_ack(haptic_device *device, uint32_t nonce)
{
    const haptic_device_config *config = device->config;
    haptic_hello_ack ack = {
        .major = HAPTIC_VERSION_MAJOR,
        .minor = HAPTIC_VERSION_MINOR,
        .nonce = nonce,
        .firmware_version = config->firmware_version,
        .axes = config->axes,
        .capabilities = config->capabilities,
        .max_rate_hz = config->max_rate_hz,
    };
    memcpy(ack.uid, config->uid, sizeof ack.uid);
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    send(device, HAPTIC_HELLO_ACK, payload, haptic_hello_ack_pack(&ack, payload));
}

/* The same nonce is a retry and changes nothing; a new nonce is a new host and disarms. A host of another major version
 * only gets the version: it may send a longer HELLO. */
static void on_hello(haptic_device *device, const haptic_frame *frame)
{
    haptic_hello hello;
    if (!haptic_hello_unpack(&hello, frame->payload, frame->length) || hello.magic != HAPTIC_MAGIC)
        return;
    bool ours = hello.major == HAPTIC_VERSION_MAJOR;
    if (ours && frame->length != HAPTIC_HELLO_LENGTH)
        return;
    bool retry = current_mode(device) != HAPTIC_SILENT && hello.nonce == device->nonce;
    if (ours && !retry) {
        change_mode(device, HAPTIC_READY);
        device->nonce = hello.nonce;
    }
    send_hello_ack(device, hello.nonce);
}

static void on_axis_info(haptic_device *device, const haptic_frame *frame)
{
    if (frame->length != 1) {
        reject_length(device, frame);
        return;
    }
    uint8_t index = frame->payload[0];
    if (index >= device->config->axes) {
        reject(device, HAPTIC_REFUSED_AXIS, index);
        return;
    }
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    send(device, HAPTIC_AXIS_INFO, payload, haptic_axis_info_pack(&device->config->axis[index].info, payload));
}

static uint16_t smaller(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static int16_t clamp(int16_t effort, uint16_t limit)
{
    if (effort > (int16_t)limit)
        return (int16_t)limit;
    if (effort < -(int16_t)limit)
        return (int16_t)-(int16_t)limit;
    return effort;
}

/* Longest gap in which fewer than half of all sequence numbers can be lost; see PROTOCOL.md, section 5. */
static uint16_t max_watchdog_ms(const haptic_device_config *config)
{
    uint32_t unambiguous_ms = UINT32_C(127000) / config->max_rate_hz;
    return unambiguous_ms < HAPTIC_WATCHDOG_MAX_MS ? (uint16_t)unambiguous_ms : HAPTIC_WATCHDOG_MAX_MS;
}

/* Sets the limit of an axis. A present effort above it is reduced at once. Requires the lock. */
static void apply_limit(haptic_device *device, uint8_t index, uint16_t limit)
{
    haptic_axis *axis = &device->axis[index];
    int16_t target = clamp(axis->target, limit), applied = clamp(axis->applied, limit);
    device->clamped |= target != axis->target;
    axis->limit = limit;
    axis->target = target;
    if (applied == axis->applied)
        return;
    axis->applied = applied;
    board_apply_effort(index, applied);
}

/* Applies the limits, reduced to the own ones, and writes those in force to `arm`. Requires the lock. */
static void apply_limits(haptic_device *device, haptic_arm *arm)
{
    const haptic_device_config *config = device->config;
    arm->watchdog_ms = arm->watchdog_ms == 0 ? HAPTIC_WATCHDOG_DEFAULT_MS : arm->watchdog_ms;
    arm->watchdog_ms = smaller(arm->watchdog_ms, max_watchdog_ms(config));
    arm->slew = arm->slew == 0 ? config->slew_q15_per_ms : smaller(arm->slew, config->slew_q15_per_ms);
    device->watchdog_ms = arm->watchdog_ms;
    device->watchdog_ticks = (uint16_t)(arm->watchdog_ms * config->ticks_per_ms);
    device->slew_per_tick = arm->slew / config->ticks_per_ms;
    device->slew_rest = (uint8_t)(arm->slew % config->ticks_per_ms);
    for (uint8_t i = 0; i < config->axes; i++) {
        arm->limit[i] = smaller(arm->limit[i], config->axis[i].limit_q15);
        apply_limit(device, i, arm->limit[i]);
    }
}

/* An armed device continues within the new limits, because ARM may be repeated. Requires the lock. */
static void enter_armed(haptic_device *device)
{
    if (device->mode == HAPTIC_ARMED)
        return;
    end_effort(device);
    device->mode = HAPTIC_ARMED;
    device->commanded = false;
    device->silent_ticks = 0;
    device->fault_unsent = false;
}

/* The fault follows ARM_ACK, so the one that the tick may have left pending is not sent as well. Requires the lock. */
static void stay_stopped(haptic_device *device)
{
    haptic_device_emergency_stop(device, true);
    device->fault_unsent = false;
}

static void on_arm(haptic_device *device, const haptic_frame *frame)
{
    haptic_arm arm;
    if (!haptic_arm_unpack(&arm, frame->payload, frame->length) || arm.axes != device->config->axes) {
        reject_length(device, frame);
        return;
    }
    if (arm.nonce != device->nonce) {
        reject(device, HAPTIC_REFUSED_NONCE, arm.nonce);
        return;
    }
    board_lock();
    bool stopped = device->stop_active;
    if (stopped)
        stay_stopped(device);
    else
        enter_armed(device);
    apply_limits(device, &arm);
    board_unlock();
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    send(device, HAPTIC_ARM_ACK, payload, haptic_arm_pack(&arm, payload));
    if (stopped)
        send_fault(device, (haptic_fault){ HAPTIC_FAULT_EMERGENCY_STOP, 0 });
}

/* Sets the targets of the tick. Requires the lock. */
static void apply_command(haptic_device *device, const haptic_command *command)
{
    device->commanded = true;
    device->silent_ticks = 0;
    if (!(command->flags & HAPTIC_ENABLE)) {
        end_effort(device);
        return;
    }
    device->enabled = true;
    device->clamped = false;
    for (uint8_t i = 0; i < device->config->axes; i++) {
        int16_t effort = clamp(command->effort[i], HAPTIC_FULL_SCALE); /* -32768 is not a value of its own */
        device->axis[i].target = clamp(effort, device->axis[i].limit);
        device->clamped |= device->axis[i].target != effort;
    }
}

/* Returns whether the command gets an answer. One older than the last is dropped and does not reset the watchdog. */
static bool accept_command(haptic_device *device, const haptic_command *command, uint8_t sequence)
{
    board_lock();
    bool armed = device->mode == HAPTIC_ARMED;
    bool stale = armed && device->commanded && !haptic_is_newer(sequence, device->acknowledged);
    if (!stale) {
        device->acknowledged = sequence;
        /* Only while armed, so that the watchdog also ends a stream without a host. */
        if (armed && (command->flags & HAPTIC_STREAM) && (device->config->capabilities & HAPTIC_CAN_STREAM))
            device->streaming = true;
        else
            haptic_device_end_stream(device);
    }
    if (armed && !stale)
        apply_command(device, command);
    bool answered = !stale && !device->streaming;
    board_unlock();
    return answered;
}

static void on_command(haptic_device *device, const haptic_frame *frame)
{
    haptic_command command;
    if (!haptic_command_unpack(&command, frame->payload, frame->length) || command.axes != device->config->axes) {
        reject_length(device, frame);
        return;
    }
    if (accept_command(device, &command, frame->sequence))
        send_due(device, true);
}

/* Valid with any sequence number and length: a stop is never rejected. A latched fault stays latched. */
static void on_stop(haptic_device *device, const haptic_frame *frame)
{
    board_lock();
    end_effort(device);
    haptic_device_end_stream(device);
    if (device->mode == HAPTIC_ARMED)
        device->mode = HAPTIC_READY;
    board_unlock();
    device->acknowledged = frame->sequence;
    send_due(device, true);
}

static void on_ping(haptic_device *device, const haptic_frame *frame)
{
    haptic_ping_reply reply = { .received_us = board_micros() };
    if (!haptic_ping_unpack(&reply.host_us, frame->payload, frame->length)) {
        reject_length(device, frame);
        return;
    }
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    reply.sent_us = board_micros();
    send(device, HAPTIC_PING_REPLY, payload, haptic_ping_reply_pack(&reply, payload));
}

static void dispatch(haptic_device *device, const haptic_frame *frame)
{
    switch (frame->type) {
    case HAPTIC_AXIS_INFO_REQUEST: on_axis_info(device, frame); break;
    case HAPTIC_ARM: on_arm(device, frame); break;
    case HAPTIC_CMD: on_command(device, frame); break;
    case HAPTIC_STOP: on_stop(device, frame); break;
    case HAPTIC_PING: on_ping(device, frame); break;
    default: reject(device, HAPTIC_REFUSED_TYPE, frame->type); break;
    }
}

void haptic_device_init(haptic_device *device, const haptic_device_config *config)
{
    memset(device, 0, sizeof *device);
    device->config = config;
    device->mode = HAPTIC_SILENT;
    end_effort(device);
}

void haptic_device_receive(haptic_device *device, uint8_t byte)
{
    haptic_frame frame;
    if (!haptic_decoder_push(&device->decoder, byte, &frame))
        return;
    if (frame.type == HAPTIC_HELLO)
        on_hello(device, &frame);
    /* Messages from a device have the high bit set: this is our own echo from a port still in cooked mode. */
    else if (current_mode(device) != HAPTIC_SILENT && !(frame.type & 0x80))
        dispatch(device, &frame);
}

void haptic_device_poll(haptic_device *device)
{
    send_due(device, false);
}

void haptic_device_link_lost(haptic_device *device)
{
    change_mode(device, HAPTIC_SILENT);
    device->decoder.length = 0;
    device->decoder.overlong = false;
}
