/* A device core on a board that only records what it does. Time advances by calls. */
#ifndef TEST_BOARD_H
#define TEST_BOARD_H

#include "board.h"
#include "check.h"
#include "device.h"

#include <string.h>

enum { TICKS_PER_MS = 4, TICK_US = 250, NONCE = 0x1234, JUMP = 50, WRAP = 980, MAX_SENT = 64 };

/* ---- The board ---- */

typedef struct test_message {
    uint8_t type, sequence, length, payload[HAPTIC_PAYLOAD_MAX];
} test_message;

static struct {
    int16_t effort[HAPTIC_MAX_AXES];
    uint32_t now_us;
    int locks;
    haptic_decoder decoder;
    test_message sent[MAX_SENT];
    int sent_count;
} board;

void board_send(const uint8_t *bytes, uint8_t length)
{
    haptic_frame frame;
    CHECK(board.locks == 0 && length > 0);
    for (uint8_t i = 0; i < length; i++) {
        if (!haptic_decoder_push(&board.decoder, bytes[i], &frame))
            continue;
        CHECK(board.sent_count < MAX_SENT);
        board.sent[board.sent_count].type = frame.type;
        board.sent[board.sent_count].sequence = frame.sequence;
        board.sent[board.sent_count].length = frame.length;
        memcpy(board.sent[board.sent_count++].payload, frame.payload, frame.length);
    }
}

void board_apply_effort(uint8_t axis, int16_t effort)
{
    board.effort[axis] = effort;
}

uint32_t board_micros(void)
{
    return board.now_us;
}

void board_lock(void)
{
    CHECK(board.locks++ == 0);
}

void board_unlock(void)
{
    CHECK(board.locks-- == 1);
}

/* ---- The device ---- */

static haptic_device device;
static haptic_device_config config;
static int32_t readings[HAPTIC_MAX_AXES];

static haptic_axis_config axis_config(uint8_t index)
{
    return (haptic_axis_config){
        .info = { .index = index, .kind = HAPTIC_LINEAR, .counts_numerator = 1000, .counts_denominator = 1,
                  .minimum = -10, .maximum = 10, .full_scale_micro = 1 },
        .track = { .wrap_counts = 0, .jump_counts = JUMP, .ticks_per_second = 1000 * TICKS_PER_MS },
        .limit_q15 = 20000,
    };
}

static void boot(uint8_t axes)
{
    memset(&board, 0, sizeof board);
    memset(readings, 0, sizeof readings);
    config = (haptic_device_config){
        .firmware_version = 0x010203,
        .uid = { 1, 2, 3, 4, 5, 6, 7, 8 },
        .axes = axes,
        .capabilities = HAPTIC_CAN_STREAM,
        .max_rate_hz = 1000,
        .ticks_per_ms = TICKS_PER_MS,
        .slew_q15_per_ms = 32767,
        .axis = { axis_config(0), axis_config(1) },
    };
    haptic_device_init(&device, &config);
}

static void deliver(uint8_t type, uint8_t sequence, const uint8_t *payload, uint8_t length)
{
    uint8_t wire[HAPTIC_WIRE_MAX];
    uint8_t size = haptic_encode(type, sequence, payload, length, wire);
    for (uint8_t i = 0; i < size; i++)
        haptic_device_receive(&device, wire[i]);
}

static void ticks(int count)
{
    for (; count > 0; count--) {
        board.now_us += TICK_US;
        haptic_device_tick(&device, readings, board.now_us);
        haptic_device_poll(&device);
    }
}

#endif
