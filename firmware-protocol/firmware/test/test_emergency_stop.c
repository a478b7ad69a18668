/* Tests of the emergency-stop input on a recording board. */
#include "test_host.h"

/* Ticks with the input in this state, as a board with the input runs them. */
static void ticks_with_stop(bool active, int count)
{
    for (; count > 0; count--) {
        haptic_device_emergency_stop(&device, active);
        ticks(1);
    }
}

static void boot_pushing(void)
{
    boot_armed(2);
    command(1, HAPTIC_ENABLE, 5000, -5000);
    ticks_with_stop(false, TICKS_PER_MS);
    CHECK(board.effort[0] == 5000 && board.effort[1] == -5000);
    board.sent_count = 0;
}

static void check_no_effort(void)
{
    CHECK(board.effort[0] == 0 && board.effort[1] == 0 && device.mode == HAPTIC_FAULTED);
}

static void a_stop_ends_effort_without_a_tick_or_the_main_loop(void)
{
    boot_pushing();
    haptic_device_emergency_stop(&device, true);
    check_no_effort();
    CHECK(board.sent_count == 0);
    haptic_device_tick(&device, readings, 0);
    check_no_effort();
}

static void a_stop_is_reported_once(void)
{
    boot_pushing();
    ticks_with_stop(true, 100 * TICKS_PER_MS);
    CHECK(board.sent_count == 1);
    CHECK(fault_at(0).code == HAPTIC_FAULT_EMERGENCY_STOP && fault_at(0).detail == 0);
}

static void every_arm_of_a_stopped_device_gets_arm_ack_and_then_the_fault(void)
{
    boot_pushing();
    ticks_with_stop(true, 1);
    for (int i = 0; i < 1000; i++) {
        board.sent_count = 0;
        send_arm(NONCE, 20, 1234, 0);
        check_no_effort();
        ticks_with_stop(true, i % 8);
        CHECK(board.sent_count == 2 && board.sent[0].type == HAPTIC_ARM_ACK);
        CHECK(fault_at(1).code == HAPTIC_FAULT_EMERGENCY_STOP && fault_at(1).detail == 0);
        haptic_arm arm;
        CHECK(haptic_arm_unpack(&arm, board.sent[0].payload, board.sent[0].length));
        CHECK(arm.nonce == NONCE && arm.limit[0] == 1234);
    }
}

static void an_arm_before_the_fault_is_sent_gets_it_only_once(void)
{
    boot_pushing();
    haptic_device_emergency_stop(&device, true);
    send_arm(NONCE, 20, 32767, 0);
    ticks_with_stop(true, TICKS_PER_MS);
    CHECK(board.sent_count == 2 && board.sent[0].type == HAPTIC_ARM_ACK);
    CHECK(fault_at(1).code == HAPTIC_FAULT_EMERGENCY_STOP);
}

static void commands_to_a_stopped_device_have_no_effect_and_get_its_state(void)
{
    boot_pushing();
    ticks_with_stop(true, 1);
    for (uint8_t sequence = 2; sequence < 60; sequence++) {
        board.sent_count = 0;
        command(sequence, HAPTIC_ENABLE, 5000, -5000);
        CHECK(last_state().status == HAPTIC_STATUS_FAULT && last_state().acknowledged == sequence);
        ticks_with_stop(true, 1);
        check_no_effort();
    }
}

static void a_released_stop_stays_latched_until_arm(void)
{
    boot_pushing();
    ticks_with_stop(true, 10);
    board.sent_count = 0;
    ticks_with_stop(false, 100 * TICKS_PER_MS);
    CHECK(board.sent_count == 0);
    command(2, HAPTIC_ENABLE, 5000, -5000);
    deliver(HAPTIC_STOP, 3, NULL, 0);
    send_hello(NONCE);
    ticks_with_stop(false, TICKS_PER_MS);
    check_no_effort();
}

static void after_release_an_arm_gets_arm_ack_alone_and_effort_starts_from_zero(void)
{
    boot_pushing();
    ticks_with_stop(true, 10);
    ticks_with_stop(false, 1);
    board.sent_count = 0;
    send_arm(NONCE, 20, 32767, 400);
    ticks_with_stop(false, TICKS_PER_MS);
    CHECK(board.sent_count == 1 && last_type() == HAPTIC_ARM_ACK && device.mode == HAPTIC_ARMED);
    CHECK(board.effort[0] == 0 && board.effort[1] == 0);
    command(9, HAPTIC_ENABLE, 5000, -5000);
    ticks_with_stop(false, 1);
    CHECK(board.effort[0] == 100 && board.effort[1] == -100);
}

static void a_press_between_two_ticks_latches(void)
{
    boot_pushing();
    ticks_with_stop(true, 1);
    ticks_with_stop(false, 1);
    check_no_effort();
    CHECK(board.sent_count == 1 && fault_at(0).code == HAPTIC_FAULT_EMERGENCY_STOP);
}

static void a_stop_replaces_another_fault_and_no_other_fault_replaces_it(void)
{
    boot_pushing();
    ticks_with_stop(false, 20 * TICKS_PER_MS);
    CHECK(board.sent_count == 1 && fault_at(0).code == HAPTIC_FAULT_WATCHDOG);
    ticks_with_stop(true, 1);
    CHECK(board.sent_count == 2 && fault_at(1).code == HAPTIC_FAULT_EMERGENCY_STOP);
    readings[0] = HAPTIC_NO_READING;
    ticks_with_stop(true, 4);
    CHECK(board.sent_count == 2);
}

static void a_stop_before_hello_is_silent_and_every_new_session_hears_of_it(void)
{
    boot(1);
    ticks_with_stop(true, 10);
    CHECK(board.sent_count == 0);
    for (uint32_t nonce = NONCE; nonce < NONCE + 3; nonce++) {
        board.sent_count = 0;
        send_hello(nonce);
        ticks_with_stop(true, 1);
        CHECK(board.sent_count == 2 && board.sent[0].type == HAPTIC_HELLO_ACK);
        CHECK(fault_at(1).code == HAPTIC_FAULT_EMERGENCY_STOP);
    }
    /* ARM in the same tick as HELLO. */
    board.sent_count = 0;
    send_hello(NONCE + 3);
    send_arm(NONCE + 3, 20, 32767, 0);
    CHECK(device.mode == HAPTIC_FAULTED && board.sent_count == 3 && board.sent[1].type == HAPTIC_ARM_ACK);
    CHECK(fault_at(2).code == HAPTIC_FAULT_EMERGENCY_STOP);
}

static void a_wrong_nonce_is_rejected_as_without_a_stop(void)
{
    boot_pushing();
    ticks_with_stop(true, 1);
    board.sent_count = 0;
    send_arm(NONCE + 1, 20, 32767, 0);
    CHECK(board.sent_count == 1 && fault_at(0).code == HAPTIC_REFUSED_NONCE);
}

static void a_stop_ends_a_stream(void)
{
    boot_armed(1);
    command(1, HAPTIC_ENABLE | HAPTIC_STREAM, 100, 0);
    ticks_with_stop(false, 4 * TICKS_PER_MS);
    CHECK(board.sent_count == 4);
    ticks_with_stop(true, 100);
    CHECK(board.sent_count == 5 && last_fault().code == HAPTIC_FAULT_EMERGENCY_STOP);
}

static void a_host_of_version_1_0_gets_the_same_frames(void)
{
    boot(1);
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_hello hello = { HAPTIC_MAGIC, 1, 0, NONCE };
    deliver(HAPTIC_HELLO, 0, payload, haptic_hello_pack(&hello, payload));
    send_arm(NONCE, 20, 32767, 0);
    command(1, HAPTIC_ENABLE, 5000, 0);
    ticks_with_stop(false, 1);
    CHECK(board.effort[0] == 5000);
    board.sent_count = 0;
    ticks_with_stop(true, 1);
    send_arm(NONCE, 20, 32767, 0);
    CHECK(board.sent_count == 3 && board.sent[1].type == HAPTIC_ARM_ACK);
    CHECK(fault_at(0).code == HAPTIC_FAULT_EMERGENCY_STOP && fault_at(2).code == HAPTIC_FAULT_EMERGENCY_STOP);
    check_no_effort();
}

int main(void)
{
    static void (*const tests[])(void) = {
        a_stop_ends_effort_without_a_tick_or_the_main_loop,
        a_stop_is_reported_once,
        every_arm_of_a_stopped_device_gets_arm_ack_and_then_the_fault,
        an_arm_before_the_fault_is_sent_gets_it_only_once,
        commands_to_a_stopped_device_have_no_effect_and_get_its_state,
        a_released_stop_stays_latched_until_arm,
        after_release_an_arm_gets_arm_ack_alone_and_effort_starts_from_zero,
        a_press_between_two_ticks_latches,
        a_stop_replaces_another_fault_and_no_other_fault_replaces_it,
        a_stop_before_hello_is_silent_and_every_new_session_hears_of_it,
        a_wrong_nonce_is_rejected_as_without_a_stop,
        a_stop_ends_a_stream,
        a_host_of_version_1_0_gets_the_same_frames,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tests[i]();
    printf("emergency stop: %zu tests passed\n", sizeof tests / sizeof tests[0]);
    return 0;
}
