/* Tests of streams on a recording board. */
#include "test_host.h"

static void start_stream(void)
{
    boot_armed(1);
    command(1, HAPTIC_ENABLE | HAPTIC_STREAM, 100, 0);
}

/* A stream whose next state is due while the main loop is busy. */
static void start_stream_with_a_state_due(void)
{
    start_stream();
    for (int i = 0; i < TICKS_PER_MS; i++)
        haptic_device_tick(&device, readings, 0);
    CHECK(device.state_due && board.sent_count == 0);
}

/* The answer to what ended the stream is the last message. */
static void check_last_answer(uint8_t acknowledged, uint8_t status)
{
    ticks(10 * TICKS_PER_MS);
    CHECK(board.sent_count == 1 && last_state().acknowledged == acknowledged && last_state().status == status);
}

static void a_stream_has_one_state_per_millisecond_and_ends_with_the_commands(void)
{
    start_stream();
    CHECK(board.sent_count == 0);
    ticks(10 * TICKS_PER_MS);
    CHECK(board.sent_count == 10);
    CHECK((last_state().status & HAPTIC_STATUS_STREAMED) && last_state().acknowledged == 1);
    ticks(10 * TICKS_PER_MS);
    CHECK(last_fault().code == HAPTIC_FAULT_WATCHDOG);
    board.sent_count = 0;
    ticks(100);
    CHECK(board.sent_count == 0);
    send_arm(NONCE, 20, 32767, 0);
    ticks(100);
    CHECK(board.sent_count == 1 && last_type() == HAPTIC_ARM_ACK);
}

static void no_streamed_state_follows_the_answer_to_the_command_that_ends_the_stream(void)
{
    start_stream_with_a_state_due();
    command(2, HAPTIC_ENABLE, 100, 0);
    check_last_answer(2, HAPTIC_STATUS_ARMED | HAPTIC_STATUS_ENABLED);
}

static void no_streamed_state_follows_the_answer_to_a_stop(void)
{
    start_stream_with_a_state_due();
    deliver(HAPTIC_STOP, 2, NULL, 0);
    check_last_answer(2, 0);
}

static void no_streamed_state_follows_a_fault(void)
{
    start_stream_with_a_state_due();
    haptic_device_emergency_stop(&device, true);
    ticks(10 * TICKS_PER_MS);
    CHECK(board.sent_count == 1 && last_fault().code == HAPTIC_FAULT_EMERGENCY_STOP);
}

static void no_streamed_state_follows_a_new_session_or_a_lost_link(void)
{
    start_stream_with_a_state_due();
    send_hello(NONCE + 1);
    ticks(10 * TICKS_PER_MS);
    CHECK(board.sent_count == 1 && last_type() == HAPTIC_HELLO_ACK);
    start_stream_with_a_state_due();
    haptic_device_link_lost(&device);
    ticks(10 * TICKS_PER_MS);
    CHECK(board.sent_count == 0);
}

int main(void)
{
    static void (*const tests[])(void) = {
        a_stream_has_one_state_per_millisecond_and_ends_with_the_commands,
        no_streamed_state_follows_the_answer_to_the_command_that_ends_the_stream,
        no_streamed_state_follows_the_answer_to_a_stop,
        no_streamed_state_follows_a_fault,
        no_streamed_state_follows_a_new_session_or_a_lost_link,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tests[i]();
    printf("stream: %zu tests passed\n", sizeof tests / sizeof tests[0]);
    return 0;
}
