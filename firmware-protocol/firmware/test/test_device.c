/* Tests of the device core on a recording board. */
#include "test_host.h"

/* ---- Session ---- */

static void no_reply_and_no_effort_before_hello(void)
{
    boot(2);
    command(0, HAPTIC_ENABLE, 1000, 1000);
    send_arm(0, 20, 32767, 0);
    deliver(HAPTIC_PING, 0, (const uint8_t *)"\1\2\3\4", 4);
    deliver(HAPTIC_STOP, 0, NULL, 0);
    ticks(100);
    CHECK(board.sent_count == 0 && board.effort[0] == 0 && board.effort[1] == 0);
}

static void hello_gets_a_complete_reply(void)
{
    boot(2);
    send_hello(0xABCDEF01);
    haptic_hello_ack ack;
    CHECK(last_type() == HAPTIC_HELLO_ACK);
    CHECK(haptic_hello_ack_unpack(&ack, board.sent[0].payload, board.sent[0].length));
    CHECK(ack.nonce == 0xABCDEF01 && ack.axes == 2 && ack.firmware_version == 0x010203);
    CHECK(ack.max_rate_hz == 1000 && memcmp(ack.uid, config.uid, 8) == 0);
}

static void another_major_version_gets_ours_but_opens_no_session(void)
{
    boot(1);
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_hello hello = { HAPTIC_MAGIC, HAPTIC_VERSION_MAJOR + 1, 0, NONCE };
    deliver(HAPTIC_HELLO, 0, payload, haptic_hello_pack(&hello, payload));
    CHECK(last_type() == HAPTIC_HELLO_ACK && device.mode == HAPTIC_SILENT);
}

static void a_wrong_magic_number_gets_no_reply(void)
{
    boot(1);
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_hello hello = { HAPTIC_MAGIC + 1, HAPTIC_VERSION_MAJOR, 0, NONCE };
    deliver(HAPTIC_HELLO, 0, payload, haptic_hello_pack(&hello, payload));
    CHECK(board.sent_count == 0 && device.mode == HAPTIC_SILENT);
}

static void hello_again_changes_nothing_but_a_new_nonce_disarms(void)
{
    boot_armed(1);
    command(5, HAPTIC_ENABLE, 1000, 0);
    ticks(1);
    send_hello(NONCE);
    CHECK(device.mode == HAPTIC_ARMED && board.effort[0] == 1000);
    send_hello(NONCE + 1);
    CHECK(device.mode == HAPTIC_READY && board.effort[0] == 0);
}

static void an_unknown_axis_is_rejected_and_a_known_one_described(void)
{
    boot(1);
    send_hello(NONCE);
    deliver(HAPTIC_AXIS_INFO_REQUEST, 0, (const uint8_t *)"\1", 1);
    CHECK(last_fault().code == HAPTIC_REFUSED_AXIS && last_fault().detail == 1);
    deliver(HAPTIC_AXIS_INFO_REQUEST, 0, (const uint8_t *)"\0", 1);
    CHECK(last_type() == HAPTIC_AXIS_INFO);
}

static void unknown_types_and_lengths_are_reported(void)
{
    boot_armed(2);
    deliver(0x55, 0, NULL, 0);
    CHECK(last_fault().code == HAPTIC_REFUSED_TYPE && last_fault().detail == 0x55);
    deliver(HAPTIC_CMD, 0, (const uint8_t *)"\1\0\0", 3);
    CHECK(last_fault().code == HAPTIC_REFUSED_LENGTH && last_fault().detail == 0x1003);
    CHECK(device.mode == HAPTIC_ARMED);
}

static void its_own_echo_gets_no_reply(void)
{
    boot_armed(1);
    deliver(HAPTIC_STATE, 0, NULL, 0);
    deliver(HAPTIC_FAULT, 0, NULL, 0);
    CHECK(board.sent_count == 0);
}

static void a_lost_link_disarms_and_closes_the_session(void)
{
    boot_armed(1);
    command(1, HAPTIC_ENABLE, 1000, 0);
    ticks(1);
    haptic_device_link_lost(&device);
    CHECK(board.effort[0] == 0 && device.mode == HAPTIC_SILENT);
    board.sent_count = 0;
    command(2, HAPTIC_ENABLE, 1000, 0);
    ticks(4);
    CHECK(board.sent_count == 0 && board.effort[0] == 0);
}

static void a_ping_returns_the_clock(void)
{
    boot(1);
    send_hello(NONCE);
    ticks(8);
    deliver(HAPTIC_PING, 0, (const uint8_t *)"\4\3\2\1", 4);
    haptic_ping_reply reply;
    CHECK(last_type() == HAPTIC_PING_REPLY);
    CHECK(haptic_ping_reply_unpack(&reply, board.sent[board.sent_count - 1].payload, 12));
    CHECK(reply.host_us == 0x01020304 && reply.received_us == 2000 && reply.sent_us == 2000);
}

/* ---- Arming ---- */

static void arm_needs_the_nonce_of_hello(void)
{
    boot(1);
    send_hello(NONCE);
    send_arm(NONCE + 1, 20, 32767, 0);
    CHECK(last_fault().code == HAPTIC_REFUSED_NONCE && last_fault().detail == NONCE + 1);
    command(0, HAPTIC_ENABLE, 1000, 0);
    ticks(4);
    CHECK(device.mode == HAPTIC_READY && board.effort[0] == 0);
}

static void arm_ack_has_the_limits_in_force(void)
{
    boot(2);
    send_hello(NONCE);
    send_arm(NONCE, 5000, 32767, 0);
    haptic_arm arm;
    CHECK(last_type() == HAPTIC_ARM_ACK);
    CHECK(haptic_arm_unpack(&arm, board.sent[board.sent_count - 1].payload, board.sent[board.sent_count - 1].length));
    CHECK(arm.watchdog_ms == HAPTIC_WATCHDOG_MAX_MS && arm.limit[0] == 20000 && arm.slew == 32767);
    send_arm(NONCE, 0, 65535, 65535);
    CHECK(haptic_arm_unpack(&arm, board.sent[board.sent_count - 1].payload, board.sent[board.sent_count - 1].length));
    CHECK(arm.watchdog_ms == HAPTIC_WATCHDOG_DEFAULT_MS && arm.limit[1] == 20000 && arm.slew == 32767);
}

static void the_watchdog_of_a_fast_device_keeps_sequence_numbers_unambiguous(void)
{
    boot(1);
    config.max_rate_hz = 4000;
    send_hello(NONCE);
    send_arm(NONCE, 100, 32767, 0);
    CHECK(device.watchdog_ms == 31);
}

static void a_repeated_arm_continues_within_the_new_limits(void)
{
    boot_armed(1);
    command(1, HAPTIC_ENABLE, 10000, 0);
    ticks(4);
    CHECK(board.effort[0] == 10000);
    send_arm(NONCE, 20, 3000, 0);
    ticks(4);
    CHECK(device.mode == HAPTIC_ARMED && board.effort[0] == 3000);
}

/* ---- Commands ---- */

static void effort_reaches_the_motor_and_every_command_gets_a_state(void)
{
    boot_armed(2);
    readings[0] = 11, readings[1] = -12;
    command(200, HAPTIC_ENABLE, 1234, -1234);
    ticks(1);
    CHECK(board.effort[0] == 1234 && board.effort[1] == -1234);
    CHECK(last_state().acknowledged == 200);
    command(201, HAPTIC_ENABLE, 1234, -1234);
    haptic_state state = last_state();
    CHECK(state.acknowledged == 201 && state.position[0] == 11 && state.position[1] == -12);
    CHECK(state.status == (HAPTIC_STATUS_ARMED | HAPTIC_STATUS_ENABLED) && state.sampled_at_us == board.now_us);
}

static void effort_is_clamped_to_the_smaller_limit(void)
{
    boot_armed(2);
    command(1, HAPTIC_ENABLE, 32767, -32768);
    CHECK(last_state().status & HAPTIC_STATUS_CLAMPED);
    ticks(8);
    CHECK(board.effort[0] == 20000 && board.effort[1] == -20000);
    send_arm(NONCE, 20, 500, 0);
    command(2, HAPTIC_ENABLE, 32767, -32768);
    ticks(8);
    CHECK(board.effort[0] == 500 && board.effort[1] == -500);
}

static void effort_rises_no_faster_than_the_slew(void)
{
    boot_armed(1);
    send_arm(NONCE, 100, 32767, 400);
    command(1, HAPTIC_ENABLE, 10000, 0);
    for (int tick = 1; tick <= 20; tick++) {
        ticks(1);
        CHECK(board.effort[0] == 100 * tick);
    }
    command(2, HAPTIC_ENABLE, -10000, 0);
    CHECK(last_state().status & HAPTIC_STATUS_SLEWING);
    ticks(1);
    CHECK(board.effort[0] == -100);
}

/* Every window of one millisecond, whatever its phase: the sum of its rises is the slew of ARM_ACK. */
static void no_millisecond_has_more_than_the_slew_of_arm_ack(void)
{
    for (uint16_t slew = 1; slew <= 41; slew += 4) {
        int16_t before[TICKS_PER_MS] = { 0 };
        boot_armed(1);
        send_arm(NONCE, 100, 32767, slew);
        command(1, HAPTIC_ENABLE, 30000, 0);
        ticks(slew % TICKS_PER_MS);
        for (int tick = 0; tick < 50; tick++) {
            ticks(1);
            if (tick >= TICKS_PER_MS)
                CHECK(board.effort[0] - before[tick % TICKS_PER_MS] == slew);
            before[tick % TICKS_PER_MS] = board.effort[0];
        }
    }
}

static void an_axis_falls_at_once_while_the_other_rises(void)
{
    boot_armed(2);
    command(1, HAPTIC_ENABLE, 20000, -20000);
    ticks(4 * TICKS_PER_MS);
    send_arm(NONCE, 20, 32767, 400);
    command(2, HAPTIC_ENABLE, 0, -100);
    ticks(1);
    CHECK(board.effort[0] == 0 && board.effort[1] == -100);
    command(3, HAPTIC_ENABLE, 50, 20000);
    ticks(1);
    CHECK(board.effort[0] == 50 && board.effort[1] == 100);
}

static void ending_effort_is_never_slewed(void)
{
    boot_armed(1);
    send_arm(NONCE, 100, 32767, 4);
    command(1, HAPTIC_ENABLE, 10000, 0);
    ticks(40);
    CHECK(board.effort[0] == 40);
    command(2, 0, 10000, 0);
    CHECK(board.effort[0] == 0 && device.mode == HAPTIC_ARMED);
    ticks(4);
    CHECK(board.effort[0] == 0 && !(last_state().status & HAPTIC_STATUS_ENABLED));
}

static void a_zero_without_enable_ends_full_effort_at_once_and_the_device_stays_armed(void)
{
    boot(2);
    config.slew_q15_per_ms = 8192;
    ticks(1);
    send_hello(NONCE);
    send_arm(NONCE, 20, 32767, 0);
    command(1, HAPTIC_ENABLE, 20000, -20000);
    ticks(4 * TICKS_PER_MS);
    CHECK(board.effort[0] == 20000 && board.effort[1] == -20000);
    command(2, 0, 0, 0);
    CHECK(board.effort[0] == 0 && board.effort[1] == 0);
    CHECK((last_state().status & (HAPTIC_STATUS_ARMED | HAPTIC_STATUS_SLEWING)) == HAPTIC_STATUS_ARMED);
    command(3, HAPTIC_ENABLE, 100, -100);
    ticks(1);
    CHECK(board.effort[0] == 100 && board.effort[1] == -100);
}

static void zeros_without_enable_reset_the_watchdog(void)
{
    boot_armed(1);
    for (uint8_t sequence = 1; sequence <= 50; sequence++) {
        command(sequence, 0, 0, 0);
        ticks(TICKS_PER_MS);
    }
    CHECK(device.mode == HAPTIC_ARMED);
}

static void an_older_command_is_dropped_and_does_not_reset_the_watchdog(void)
{
    boot_armed(1);
    command(250, HAPTIC_ENABLE, 1000, 0);
    command(3, HAPTIC_ENABLE, 2000, 0);
    board.sent_count = 0;
    command(251, HAPTIC_ENABLE, 9000, 0);
    command(3, HAPTIC_ENABLE, 9000, 0);
    ticks(4);
    CHECK(board.sent_count == 0 && board.effort[0] == 2000);
    for (int i = 0; i < 20 * TICKS_PER_MS; i++) {
        command(251, HAPTIC_ENABLE, 9000, 0);
        ticks(1);
    }
    CHECK(device.mode == HAPTIC_FAULTED && board.effort[0] == 0);
}

static void stop_takes_effect_at_once_with_any_sequence_number(void)
{
    boot_armed(2);
    command(100, HAPTIC_ENABLE, 5000, 5000);
    ticks(4);
    deliver(HAPTIC_STOP, 3, NULL, 0);
    CHECK(board.effort[0] == 0 && board.effort[1] == 0 && device.mode == HAPTIC_READY);
    CHECK(last_state().acknowledged == 3 && last_state().status == 0);
}

/* ---- Guards ---- */

static void the_watchdog_ends_effort_on_time_and_latches(void)
{
    boot_armed(1);
    command(1, HAPTIC_ENABLE, 5000, 0);
    ticks(20 * TICKS_PER_MS - 1);
    CHECK(board.effort[0] == 5000 && device.mode == HAPTIC_ARMED);
    ticks(1);
    CHECK(board.effort[0] == 0 && last_fault().code == HAPTIC_FAULT_WATCHDOG && last_fault().detail == 20);
    command(2, HAPTIC_ENABLE, 5000, 0);
    ticks(4);
    CHECK(board.effort[0] == 0 && last_state().status == HAPTIC_STATUS_FAULT);
    send_arm(NONCE, 20, 32767, 0);
    command(3, HAPTIC_ENABLE, 5000, 0);
    ticks(4);
    CHECK(board.effort[0] == 5000);
}

static void the_watchdog_ends_effort_even_if_the_main_loop_hangs(void)
{
    boot_armed(1);
    command(1, HAPTIC_ENABLE, 5000, 0);
    for (int i = 0; i < 20 * TICKS_PER_MS; i++)
        haptic_device_tick(&device, readings, 0);
    CHECK(board.effort[0] == 0 && device.mode == HAPTIC_FAULTED);
}

static void a_fault_is_sent_before_the_state_that_shows_it(void)
{
    boot_armed(1);
    command(1, HAPTIC_ENABLE, 5000, 0);
    for (int i = 0; i < 20 * TICKS_PER_MS; i++)
        haptic_device_tick(&device, readings, 0);
    board.sent_count = 0;
    command(2, HAPTIC_ENABLE, 5000, 0);
    ticks(1);
    CHECK(board.sent_count == 2 && fault_at(0).code == HAPTIC_FAULT_WATCHDOG);
    CHECK(last_state().status == HAPTIC_STATUS_FAULT);
}

static void commands_reset_the_watchdog(void)
{
    boot_armed(1);
    for (int i = 0; i < 1000; i++) {
        command((uint8_t)i, HAPTIC_ENABLE, 5000, 0);
        ticks(19 * TICKS_PER_MS);
        board.sent_count = 0;
    }
    CHECK(device.mode == HAPTIC_ARMED && board.effort[0] == 5000);
}

static void silence_before_the_first_command_is_not_a_fault(void)
{
    boot_armed(1);
    ticks(1000 * TICKS_PER_MS);
    CHECK(device.mode == HAPTIC_ARMED && board.effort[0] == 0);
}

int main(void)
{
    static void (*const tests[])(void) = {
        no_reply_and_no_effort_before_hello,
        hello_gets_a_complete_reply,
        another_major_version_gets_ours_but_opens_no_session,
        a_wrong_magic_number_gets_no_reply,
        hello_again_changes_nothing_but_a_new_nonce_disarms,
        an_unknown_axis_is_rejected_and_a_known_one_described,
        unknown_types_and_lengths_are_reported,
        its_own_echo_gets_no_reply,
        a_lost_link_disarms_and_closes_the_session,
        a_ping_returns_the_clock,
        arm_needs_the_nonce_of_hello,
        arm_ack_has_the_limits_in_force,
        the_watchdog_of_a_fast_device_keeps_sequence_numbers_unambiguous,
        a_repeated_arm_continues_within_the_new_limits,
        effort_reaches_the_motor_and_every_command_gets_a_state,
        effort_is_clamped_to_the_smaller_limit,
        effort_rises_no_faster_than_the_slew,
        no_millisecond_has_more_than_the_slew_of_arm_ack,
        an_axis_falls_at_once_while_the_other_rises,
        ending_effort_is_never_slewed,
        a_zero_without_enable_ends_full_effort_at_once_and_the_device_stays_armed,
        zeros_without_enable_reset_the_watchdog,
        an_older_command_is_dropped_and_does_not_reset_the_watchdog,
        stop_takes_effect_at_once_with_any_sequence_number,
        the_watchdog_ends_effort_on_time_and_latches,
        the_watchdog_ends_effort_even_if_the_main_loop_hangs,
        a_fault_is_sent_before_the_state_that_shows_it,
        commands_reset_the_watchdog,
        silence_before_the_first_command_is_not_a_fault,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tests[i]();
    printf("device: %zu tests passed\n", sizeof tests / sizeof tests[0]);
    return 0;
}
