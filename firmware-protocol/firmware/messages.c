/* Payloads: fields in wire order, little-endian. */
#include "haptic_protocol.h"

/* Positions in a payload that advance with every field. */
typedef struct writer { uint8_t *at; } writer;
typedef struct reader { const uint8_t *at; } reader;

static void put_u8(writer *out, uint8_t value)
{
    *out->at++ = value;
}

static void put_u16(writer *out, uint16_t value)
{
    put_u8(out, (uint8_t)value);
    put_u8(out, (uint8_t)(value >> 8));
}

static void put_u32(writer *out, uint32_t value)
{
    put_u16(out, (uint16_t)value);
    put_u16(out, (uint16_t)(value >> 16));
}

static uint8_t get_u8(reader *in)
{
    return *in->at++;
}

static uint16_t get_u16(reader *in)
{
    uint8_t low = get_u8(in);
    return (uint16_t)(low | (uint16_t)get_u8(in) << 8);
}

static uint32_t get_u32(reader *in)
{
    uint16_t low = get_u16(in);
    return low | (uint32_t)get_u16(in) << 16;
}

static uint8_t written(const writer *out, const uint8_t *payload)
{
    return (uint8_t)(out->at - payload);
}

uint8_t haptic_hello_pack(const haptic_hello *hello, uint8_t *payload)
{
    writer out = { payload };
    put_u32(&out, hello->magic);
    put_u8(&out, hello->major);
    put_u8(&out, hello->minor);
    put_u32(&out, hello->nonce);
    return written(&out, payload);
}

bool haptic_hello_unpack(haptic_hello *hello, const uint8_t *payload, uint8_t length)
{
    reader in = { payload };
    if (length < HAPTIC_HELLO_LENGTH)
        return false;
    hello->magic = get_u32(&in);
    hello->major = get_u8(&in);
    hello->minor = get_u8(&in);
    hello->nonce = get_u32(&in);
    return true;
}

uint8_t haptic_hello_ack_pack(const haptic_hello_ack *ack, uint8_t *payload)
{
    writer out = { payload };
    put_u8(&out, ack->major);
    put_u8(&out, ack->minor);
    put_u32(&out, ack->nonce);
    put_u32(&out, ack->firmware_version);
    for (uint8_t i = 0; i < sizeof ack->uid; i++)
        put_u8(&out, ack->uid[i]);
    put_u8(&out, ack->axes);
    put_u16(&out, ack->capabilities);
    put_u16(&out, ack->max_rate_hz);
    return written(&out, payload);
}

bool haptic_hello_ack_unpack(haptic_hello_ack *ack, const uint8_t *payload, uint8_t length)
{
    reader in = { payload };
    if (length != 23)
        return false;
    ack->major = get_u8(&in);
    ack->minor = get_u8(&in);
    ack->nonce = get_u32(&in);
    ack->firmware_version = get_u32(&in);
    for (uint8_t i = 0; i < sizeof ack->uid; i++)
        ack->uid[i] = get_u8(&in);
    ack->axes = get_u8(&in);
    ack->capabilities = get_u16(&in);
    ack->max_rate_hz = get_u16(&in);
    return true;
}

uint8_t haptic_axis_info_pack(const haptic_axis_info *info, uint8_t *payload)
{
    writer out = { payload };
    put_u8(&out, info->index);
    put_u8(&out, info->kind);
    put_u32(&out, info->counts_numerator);
    put_u32(&out, info->counts_denominator);
    put_u32(&out, (uint32_t)info->minimum);
    put_u32(&out, (uint32_t)info->maximum);
    put_u32(&out, info->full_scale_micro);
    put_u8(&out, info->home_flags);
    return written(&out, payload);
}

bool haptic_axis_info_unpack(haptic_axis_info *info, const uint8_t *payload, uint8_t length)
{
    reader in = { payload };
    if (length != 23)
        return false;
    info->index = get_u8(&in);
    info->kind = get_u8(&in);
    info->counts_numerator = get_u32(&in);
    info->counts_denominator = get_u32(&in);
    info->minimum = (int32_t)get_u32(&in);
    info->maximum = (int32_t)get_u32(&in);
    info->full_scale_micro = get_u32(&in);
    info->home_flags = get_u8(&in);
    return true;
}

uint8_t haptic_arm_pack(const haptic_arm *arm, uint8_t *payload)
{
    writer out = { payload };
    put_u32(&out, arm->nonce);
    put_u16(&out, arm->watchdog_ms);
    for (uint8_t axis = 0; axis < arm->axes; axis++)
        put_u16(&out, arm->limit[axis]);
    put_u16(&out, arm->slew);
    return written(&out, payload);
}

bool haptic_arm_unpack(haptic_arm *arm, const uint8_t *payload, uint8_t length)
{
    reader in = { payload };
    if (length != 10 && length != 12)
        return false;
    arm->axes = (uint8_t)((length - 8) / 2);
    arm->nonce = get_u32(&in);
    arm->watchdog_ms = get_u16(&in);
    for (uint8_t axis = 0; axis < arm->axes; axis++)
        arm->limit[axis] = get_u16(&in);
    arm->slew = get_u16(&in);
    return true;
}

uint8_t haptic_command_pack(const haptic_command *command, uint8_t *payload)
{
    writer out = { payload };
    put_u8(&out, command->flags);
    for (uint8_t axis = 0; axis < command->axes; axis++)
        put_u16(&out, (uint16_t)command->effort[axis]);
    return written(&out, payload);
}

bool haptic_command_unpack(haptic_command *command, const uint8_t *payload, uint8_t length)
{
    reader in = { payload };
    if (length != 3 && length != 5)
        return false;
    command->axes = (uint8_t)(length / 2);
    command->flags = get_u8(&in);
    for (uint8_t axis = 0; axis < command->axes; axis++)
        command->effort[axis] = (int16_t)get_u16(&in);
    return true;
}

uint8_t haptic_state_pack(const haptic_state *state, uint8_t *payload)
{
    writer out = { payload };
    put_u8(&out, state->acknowledged);
    put_u8(&out, state->status);
    put_u32(&out, state->sampled_at_us);
    for (uint8_t axis = 0; axis < state->axes; axis++)
        put_u32(&out, (uint32_t)state->position[axis]);
    if (state->status & HAPTIC_STATUS_VELOCITY) {
        for (uint8_t axis = 0; axis < state->axes; axis++)
            put_u32(&out, (uint32_t)state->velocity[axis]);
    }
    return written(&out, payload);
}

bool haptic_state_unpack(haptic_state *state, const uint8_t *payload, uint8_t length)
{
    reader in = { payload };
    if (length < 10)
        return false;
    state->acknowledged = get_u8(&in);
    state->status = get_u8(&in);
    bool velocity_given = state->status & HAPTIC_STATUS_VELOCITY;
    uint8_t per_axis = velocity_given ? 8 : 4;
    state->axes = (uint8_t)((length - 6) / per_axis);
    if (state->axes < 1 || state->axes > HAPTIC_MAX_AXES || length != 6 + state->axes * per_axis)
        return false;
    state->sampled_at_us = get_u32(&in);
    for (uint8_t axis = 0; axis < state->axes; axis++)
        state->position[axis] = (int32_t)get_u32(&in);
    for (uint8_t axis = 0; axis < state->axes; axis++)
        state->velocity[axis] = velocity_given ? (int32_t)get_u32(&in) : 0;
    return true;
}

uint8_t haptic_ping_pack(uint32_t host_us, uint8_t *payload)
{
    writer out = { payload };
    put_u32(&out, host_us);
    return written(&out, payload);
}

bool haptic_ping_unpack(uint32_t *host_us, const uint8_t *payload, uint8_t length)
{
    reader in = { payload };
    if (length != 4)
        return false;
    *host_us = get_u32(&in);
    return true;
}

uint8_t haptic_ping_reply_pack(const haptic_ping_reply *reply, uint8_t *payload)
{
    writer out = { payload };
    put_u32(&out, reply->host_us);
    put_u32(&out, reply->received_us);
    put_u32(&out, reply->sent_us);
    return written(&out, payload);
}

bool haptic_ping_reply_unpack(haptic_ping_reply *reply, const uint8_t *payload, uint8_t length)
{
    reader in = { payload };
    if (length != 12)
        return false;
    reply->host_us = get_u32(&in);
    reply->received_us = get_u32(&in);
    reply->sent_us = get_u32(&in);
    return true;
}

uint8_t haptic_fault_pack(const haptic_fault *fault, uint8_t *payload)
{
    writer out = { payload };
    put_u8(&out, fault->code);
    put_u32(&out, fault->detail);
    return written(&out, payload);
}

bool haptic_fault_unpack(haptic_fault *fault, const uint8_t *payload, uint8_t length)
{
    reader in = { payload };
    if (length != 5)
        return false;
    fault->code = get_u8(&in);
    fault->detail = get_u32(&in);
    return true;
}
