/* The haptic protocol, version 1.2: constants, messages, framing.
 *
 * PROTOCOL.md is the specification; the vectors in vectors/ test this header and the Rust crate haptic-wire against it.
 * Portable C99, no allocation, no floating point. Packing and unpacking are byte by byte, independent of the byte order
 * and alignment rules of the processor.
 */
#ifndef HAPTIC_PROTOCOL_H
#define HAPTIC_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HAPTIC_VERSION_MAJOR = 1,
    HAPTIC_VERSION_MINOR = 2,

    HAPTIC_MAX_AXES = 2,
    HAPTIC_WIRE_MAX = 64,    /* a frame with COBS code and delimiter: one full-speed USB packet */
    HAPTIC_OVERHEAD = 6,     /* COBS code, type, sequence, checksum, delimiter */
    HAPTIC_PAYLOAD_MAX = HAPTIC_WIRE_MAX - HAPTIC_OVERHEAD,
    HAPTIC_FULL_SCALE = 32767,
    HAPTIC_HELLO_LENGTH = 10, /* in all versions with the same major number; never shorter in others */

    HAPTIC_WATCHDOG_DEFAULT_MS = 20,
    HAPTIC_WATCHDOG_MAX_MS = 100
};

/* The letters HAPT in wire order; too large for an enumerator. */
#define HAPTIC_MAGIC UINT32_C(0x54504148)

enum haptic_type {
    HAPTIC_HELLO = 0x01,
    HAPTIC_AXIS_INFO_REQUEST = 0x02,
    HAPTIC_ARM = 0x03,
    HAPTIC_CMD = 0x10,
    HAPTIC_STOP = 0x11,
    HAPTIC_PING = 0x12,
    HAPTIC_HELLO_ACK = 0x81,
    HAPTIC_AXIS_INFO = 0x82,
    HAPTIC_ARM_ACK = 0x83,
    HAPTIC_STATE = 0x90,
    HAPTIC_FAULT = 0x91,
    HAPTIC_PING_REPLY = 0x92,
    HAPTIC_LOG = 0x9F
};

enum haptic_capability { HAPTIC_CAN_VELOCITY = 1 << 0, HAPTIC_CAN_STREAM = 1 << 1, HAPTIC_SEES_LINK = 1 << 2 };

enum haptic_axis_kind { HAPTIC_LINEAR = 0, HAPTIC_ROTARY = 1 };

enum haptic_home { HAPTIC_ABSOLUTE = 1 << 0, HAPTIC_ZERO_AT_BOOT = 1 << 1 };

enum haptic_command_flag { HAPTIC_ENABLE = 1 << 0, HAPTIC_STREAM = 1 << 1 };

enum haptic_status {
    HAPTIC_STATUS_ARMED = 1 << 0,
    HAPTIC_STATUS_ENABLED = 1 << 1,
    HAPTIC_STATUS_FAULT = 1 << 2,
    HAPTIC_STATUS_CLAMPED = 1 << 3,
    HAPTIC_STATUS_SLEWING = 1 << 4,
    HAPTIC_STATUS_HELD = 1 << 5,
    HAPTIC_STATUS_VELOCITY = 1 << 6,
    HAPTIC_STATUS_STREAMED = 1 << 7
};

/* Codes below 0x10 latch: no effort until the next ARM. From 0x10 on, a message was rejected. */
enum haptic_fault_code {
    HAPTIC_FAULT_WATCHDOG = 0x01,
    HAPTIC_FAULT_ENCODER_JUMP = 0x02,
    HAPTIC_FAULT_SENSOR = 0x03,
    HAPTIC_FAULT_EMERGENCY_STOP = 0x04, /* since version 1.1 */
    HAPTIC_REFUSED_NONCE = 0x10,
    HAPTIC_REFUSED_AXIS = 0x11,
    HAPTIC_REFUSED_LENGTH = 0x12,
    HAPTIC_REFUSED_TYPE = 0x13
};

typedef struct haptic_hello {
    uint32_t magic;
    uint8_t major, minor;
    uint32_t nonce;
} haptic_hello;

typedef struct haptic_hello_ack {
    uint8_t major, minor;
    uint32_t nonce;
    uint32_t firmware_version; /* major << 16 | minor << 8 | patch */
    uint8_t uid[8];
    uint8_t axes;
    uint16_t capabilities;
    uint16_t max_rate_hz;
} haptic_hello_ack;

typedef struct haptic_axis_info {
    uint8_t index;
    uint8_t kind;
    uint32_t counts_numerator, counts_denominator; /* counts per metre or radian */
    int32_t minimum, maximum;                      /* counts */
    uint32_t full_scale_micro;                     /* micronewtons or micronewton metres at HAPTIC_FULL_SCALE */
    uint8_t home_flags;
} haptic_axis_info;

/* Both ARM and ARM_ACK. */
typedef struct haptic_arm {
    uint32_t nonce;
    uint16_t watchdog_ms;
    uint8_t axes;
    uint16_t limit[HAPTIC_MAX_AXES];
    uint16_t slew; /* Q15 per millisecond */
} haptic_arm;

typedef struct haptic_command {
    uint8_t flags;
    uint8_t axes;
    int16_t effort[HAPTIC_MAX_AXES];
} haptic_command;

typedef struct haptic_state {
    uint8_t acknowledged;
    uint8_t status; /* bit 6: velocities are on the wire */
    uint32_t sampled_at_us;
    uint8_t axes;
    int32_t position[HAPTIC_MAX_AXES];
    int32_t velocity[HAPTIC_MAX_AXES];
} haptic_state;

typedef struct haptic_ping_reply {
    uint32_t host_us, received_us, sent_us;
} haptic_ping_reply;

typedef struct haptic_fault {
    uint8_t code;
    uint32_t detail;
} haptic_fault;

/* Each pack function writes a payload of at most HAPTIC_PAYLOAD_MAX bytes and returns its length. Each unpack function
 * returns false if the length is invalid for the message; HELLO may be longer, because its start is the same in every
 * version. */
uint8_t haptic_hello_pack(const haptic_hello *hello, uint8_t *payload);
bool haptic_hello_unpack(haptic_hello *hello, const uint8_t *payload, uint8_t length);
uint8_t haptic_hello_ack_pack(const haptic_hello_ack *ack, uint8_t *payload);
bool haptic_hello_ack_unpack(haptic_hello_ack *ack, const uint8_t *payload, uint8_t length);
uint8_t haptic_axis_info_pack(const haptic_axis_info *info, uint8_t *payload);
bool haptic_axis_info_unpack(haptic_axis_info *info, const uint8_t *payload, uint8_t length);
uint8_t haptic_arm_pack(const haptic_arm *arm, uint8_t *payload);
bool haptic_arm_unpack(haptic_arm *arm, const uint8_t *payload, uint8_t length);
uint8_t haptic_command_pack(const haptic_command *command, uint8_t *payload);
bool haptic_command_unpack(haptic_command *command, const uint8_t *payload, uint8_t length);
uint8_t haptic_state_pack(const haptic_state *state, uint8_t *payload);
bool haptic_state_unpack(haptic_state *state, const uint8_t *payload, uint8_t length);
uint8_t haptic_ping_pack(uint32_t host_us, uint8_t *payload);
bool haptic_ping_unpack(uint32_t *host_us, const uint8_t *payload, uint8_t length);
uint8_t haptic_ping_reply_pack(const haptic_ping_reply *reply, uint8_t *payload);
bool haptic_ping_reply_unpack(haptic_ping_reply *reply, const uint8_t *payload, uint8_t length);
uint8_t haptic_fault_pack(const haptic_fault *fault, uint8_t *payload);
bool haptic_fault_unpack(haptic_fault *fault, const uint8_t *payload, uint8_t length);

/* CRC-16/IBM-3740. Start with HAPTIC_CRC_START; pass the result to continue. */
#define HAPTIC_CRC_START UINT16_C(0xFFFF)
uint16_t haptic_crc(uint16_t crc, const uint8_t *bytes, uint8_t length);

/* Writes a frame with its delimiter and returns its length; 0 if the payload is too long. */
uint8_t haptic_encode(uint8_t type, uint8_t sequence, const uint8_t *payload, uint8_t length,
                      uint8_t wire[HAPTIC_WIRE_MAX]);

/* Collects bytes up to a delimiter. Initialise with zeros. */
typedef struct haptic_decoder {
    uint8_t collected[HAPTIC_WIRE_MAX - 1];
    uint8_t length;
    bool overlong;
    uint16_t frames, crc_errors, framing_errors, overlong_errors;
} haptic_decoder;

/* A frame with a correct checksum. The payload is in the decoder and valid until the next push. */
typedef struct haptic_frame {
    uint8_t type, sequence;
    const uint8_t *payload;
    uint8_t length;
} haptic_frame;

/* Adds one byte; returns true if it completed a frame. */
bool haptic_decoder_push(haptic_decoder *decoder, uint8_t byte, haptic_frame *frame);

/* Whether `candidate` was sent after `reference`, as long as they are fewer than 128 frames apart. */
static inline bool haptic_is_newer(uint8_t candidate, uint8_t reference)
{
    uint8_t ahead = (uint8_t)(candidate - reference);
    return ahead != 0 && ahead < 128;
}

#endif
