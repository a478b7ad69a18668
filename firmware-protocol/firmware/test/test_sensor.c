/* Tests of readings: implausible ones, invalid ones, and the positions made of them, on a recording board. */
#include "test_host.h"

/* ---- Faults ---- */

static void one_invalid_reading_is_held_and_two_are_a_fault(void)
{
    boot_armed(2);
    command(1, HAPTIC_ENABLE, 5000, 5000);
    readings[1] = 30;
    ticks(1);
    readings[1] = 30 + 10 * JUMP;
    ticks(1);
    command(2, HAPTIC_ENABLE, 5000, 5000);
    CHECK((last_state().status & HAPTIC_STATUS_HELD) && last_state().position[1] == 30);
    readings[1] = 35;
    ticks(1);
    CHECK(device.mode == HAPTIC_ARMED && board.effort[0] == 5000 && device.axis[1].track.position == 35);
    readings[1] = 35 + 10 * JUMP;
    ticks(2);
    CHECK(board.effort[0] == 0 && board.effort[1] == 0);
    CHECK(last_fault().code == HAPTIC_FAULT_ENCODER_JUMP && last_fault().detail == (1u << 24 | 10 * JUMP));
}

static void after_a_jump_the_position_continues_from_the_held_one(void)
{
    boot_armed(1);
    readings[0] = 30;
    ticks(1);
    readings[0] = 1 << 25;
    ticks(2);
    CHECK(last_fault().detail == 0xFFFFFF); /* as far as the detail holds it */
    readings[0] += 7;
    ticks(1);
    command(1, 0, 0, 0);
    CHECK(last_state().position[0] == 37 && !(last_state().status & HAPTIC_STATUS_HELD));
}

static void a_lasting_fault_of_a_silent_device_is_reported_in_its_session(void)
{
    boot(1);
    readings[0] = HAPTIC_NO_READING;
    ticks(10);
    CHECK(board.sent_count == 0);
    send_hello(NONCE);
    ticks(1);
    CHECK(board.sent_count == 2 && last_fault().code == HAPTIC_FAULT_SENSOR);
}

static void the_sensor_of_the_lower_axis_is_the_fault_of_a_tick_with_several(void)
{
    boot_armed(2);
    command(1, 0, 0, 0);
    ticks(20 * TICKS_PER_MS - 2);
    readings[0] = readings[1] = HAPTIC_NO_READING;
    board.sent_count = 0;
    ticks(2);
    CHECK(board.sent_count == 1 && last_fault().code == HAPTIC_FAULT_SENSOR && last_fault().detail == 0);
}

static void fast_motion_is_not_a_jump(void)
{
    boot_armed(1);
    command(1, HAPTIC_ENABLE, 5000, 0);
    for (int i = 0; i < 40; i++) {
        readings[0] += JUMP;
        ticks(1);
    }
    CHECK(device.mode == HAPTIC_ARMED && device.axis[0].track.position == 40 * JUMP);
}

static void a_dead_sensor_is_a_fault_that_recurs_after_arm(void)
{
    boot_armed(1);
    command(1, HAPTIC_ENABLE, 5000, 0);
    readings[0] = HAPTIC_NO_READING;
    ticks(2);
    CHECK(board.effort[0] == 0 && last_fault().code == HAPTIC_FAULT_SENSOR);
    send_arm(NONCE, 20, 32767, 0);
    command(2, HAPTIC_ENABLE, 5000, 0);
    ticks(1);
    CHECK(board.effort[0] == 0 && device.mode == HAPTIC_FAULTED);
    command(3, HAPTIC_ENABLE, 5000, 0);
    CHECK(last_state().status == (HAPTIC_STATUS_FAULT | HAPTIC_STATUS_HELD));
}

static uint8_t fault_of_two_readings(int32_t first, int32_t second)
{
    boot_armed(1);
    readings[0] = first;
    ticks(1);
    readings[0] = second;
    ticks(1);
    CHECK(device.mode == HAPTIC_FAULTED);
    return last_fault().code;
}

static void the_second_of_two_rejected_readings_decides_the_fault(void)
{
    CHECK(fault_of_two_readings(HAPTIC_NO_READING, 10 * JUMP) == HAPTIC_FAULT_ENCODER_JUMP);
    CHECK(fault_of_two_readings(10 * JUMP, HAPTIC_NO_READING) == HAPTIC_FAULT_SENSOR);
}

/* ---- Tracking ---- */

static void a_wrapping_sensor_is_unwrapped_in_both_directions(void)
{
    haptic_track track = { 0 };
    haptic_track_config wrapping = { WRAP, 100, 4000 };
    int32_t position = 0;
    CHECK(haptic_track_update(&track, &wrapping, 400) == HAPTIC_TRACK_GOOD && track.position == 0);
    for (int i = 0; i < 400; i++) {
        position += i < 150 ? 37 : -41;
        int32_t reading = ((position + 400) % WRAP + WRAP) % WRAP;
        CHECK(haptic_track_update(&track, &wrapping, reading) == HAPTIC_TRACK_GOOD && track.position == position);
    }
}

static void a_reading_during_the_wrap_does_not_lose_a_turn(void)
{
    haptic_track track = { 0 };
    haptic_track_config wrapping = { WRAP, 100, 4000 };
    haptic_track_update(&track, &wrapping, 970);
    CHECK(haptic_track_update(&track, &wrapping, 480) == HAPTIC_TRACK_HELD && track.position == 0);
    CHECK(haptic_track_update(&track, &wrapping, 10) == HAPTIC_TRACK_GOOD && track.position == 20);
}

static void velocity_settles_at_the_true_speed(void)
{
    haptic_track track = { 0 };
    haptic_track_config absolute = { 0, 100, 4000 };
    for (int i = 0; i < 1000; i++)
        haptic_track_update(&track, &absolute, -3 * i);
    CHECK(track.velocity <= -11999 && track.velocity >= -12001);
    for (int i = 0; i < 1000; i++)
        haptic_track_update(&track, &absolute, -3 * 999);
    CHECK(track.velocity <= 1 && track.velocity >= -1);
}

int main(void)
{
    static void (*const tests[])(void) = {
        one_invalid_reading_is_held_and_two_are_a_fault,
        after_a_jump_the_position_continues_from_the_held_one,
        a_lasting_fault_of_a_silent_device_is_reported_in_its_session,
        the_sensor_of_the_lower_axis_is_the_fault_of_a_tick_with_several,
        fast_motion_is_not_a_jump,
        a_dead_sensor_is_a_fault_that_recurs_after_arm,
        the_second_of_two_rejected_readings_decides_the_fault,
        a_wrapping_sensor_is_unwrapped_in_both_directions,
        a_reading_during_the_wrap_does_not_lose_a_turn,
        velocity_settles_at_the_true_speed,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tests[i]();
    printf("sensor: %zu tests passed\n", sizeof tests / sizeof tests[0]);
    return 0;
}
