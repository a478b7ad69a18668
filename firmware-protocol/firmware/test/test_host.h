/* A host that sends messages to the device on the recording board, and reads its replies. */
#ifndef TEST_HOST_H
#define TEST_HOST_H

#include "test_board.h"

static void send_hello(uint32_t nonce)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_hello hello = { HAPTIC_MAGIC, HAPTIC_VERSION_MAJOR, HAPTIC_VERSION_MINOR, nonce };
    deliver(HAPTIC_HELLO, 0, payload, haptic_hello_pack(&hello, payload));
}

static void send_arm(uint32_t nonce, uint16_t watchdog_ms, uint16_t limit, uint16_t slew)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_arm arm = { nonce, watchdog_ms, config.axes, { limit, limit }, slew };
    deliver(HAPTIC_ARM, 1, payload, haptic_arm_pack(&arm, payload));
}

static void command(uint8_t sequence, uint8_t flags, int16_t first, int16_t second)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_command command = { flags, config.axes, { first, second } };
    deliver(HAPTIC_CMD, sequence, payload, haptic_command_pack(&command, payload));
}

static void boot_armed(uint8_t axes)
{
    boot(axes);
    ticks(1);
    send_hello(NONCE);
    send_arm(NONCE, 20, 32767, 0);
    CHECK(device.mode == HAPTIC_ARMED);
    board.sent_count = 0;
}

static uint8_t last_type(void)
{
    return board.sent_count ? board.sent[board.sent_count - 1].type : 0;
}

static haptic_state last_state(void)
{
    haptic_state state;
    CHECK(last_type() == HAPTIC_STATE);
    const test_message *last = &board.sent[board.sent_count - 1];
    CHECK(haptic_state_unpack(&state, last->payload, last->length));
    return state;
}

static haptic_fault fault_at(int index)
{
    haptic_fault fault;
    CHECK(index >= 0 && index < board.sent_count && board.sent[index].type == HAPTIC_FAULT);
    CHECK(haptic_fault_unpack(&fault, board.sent[index].payload, board.sent[index].length));
    return fault;
}

static haptic_fault last_fault(void)
{
    return fault_at(board.sent_count - 1);
}

#endif
