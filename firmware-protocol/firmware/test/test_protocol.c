/* Tests the C implementation against the vectors: test-protocol FOLDER. Every case is decoded and encoded. */
#include "check.h"
#include "haptic_protocol.h"

#include <string.h>

enum { MAX_KEYS = 16, MAX_LINE = 512 };

typedef struct test_case {
    char key[MAX_KEYS][32];
    char value[MAX_KEYS][MAX_LINE];
    int keys;
} test_case;

static const char *text(const test_case *c, const char *key)
{
    for (int i = 0; i < c->keys; i++)
        if (strcmp(c->key[i], key) == 0)
            return c->value[i];
    return NULL;
}

static long long number_at(const test_case *c, const char *key, int index)
{
    const char *at = text(c, key);
    CHECK(at != NULL);
    char *end;
    long long value = strtoll(at, &end, 0);
    for (; index > 0; index--)
        value = strtoll(end, &end, 0);
    return value;
}

static long long number(const test_case *c, const char *key)
{
    return number_at(c, key, 0);
}

static int value_count(const test_case *c, const char *key)
{
    int count = 0;
    bool inside = false;
    for (const char *at = text(c, key); *at; at++) {
        count += *at != ' ' && !inside;
        inside = *at != ' ';
    }
    return count;
}

static int wire_of(const test_case *c, uint8_t *wire)
{
    int length = 0;
    const char *at = text(c, "wire");
    CHECK(at != NULL);
    for (char *end; *at; at = end) {
        wire[length++] = (uint8_t)strtol(at, &end, 16);
        CHECK(end != at);
    }
    return length;
}

/* ---- Reading files ---- */

static void add_line(test_case *c, char *line)
{
    char *equals = strstr(line, " = ");
    CHECK(equals != NULL && c->keys < MAX_KEYS);
    *equals = 0;
    strcpy(c->key[c->keys], line);
    strcpy(c->value[c->keys++], equals + 3);
}

/* The next case of a file; false at its end. */
static bool next_case(FILE *file, test_case *c)
{
    char line[MAX_LINE];
    c->keys = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == 0 && c->keys > 0)
            return true;
        if (line[0] != 0 && line[0] != '#')
            add_line(c, line);
    }
    return c->keys > 0;
}

static int for_each_case(const char *folder, const char *name, void (*check)(const test_case *))
{
    char path[MAX_LINE];
    snprintf(path, sizeof path, "%s/%s.txt", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(2);
    }
    static test_case c;
    int count = 0;
    for (; next_case(file, &c); count++)
        check(&c);
    fclose(file);
    CHECK(count > 0);
    return count;
}

/* ---- Decoding and encoding ---- */

static haptic_decoder decoder;

static haptic_frame decoded(const test_case *c)
{
    uint8_t wire[128];
    int length = wire_of(c, wire);
    haptic_frame frame;
    memset(&decoder, 0, sizeof decoder);
    for (int i = 0; i < length - 1; i++)
        CHECK(!haptic_decoder_push(&decoder, wire[i], &frame));
    CHECK(haptic_decoder_push(&decoder, wire[length - 1], &frame));
    CHECK(frame.type == number(c, "type"));
    CHECK(frame.sequence == number(c, "sequence"));
    return frame;
}

static void check_encoded(const test_case *c, const uint8_t *payload, uint8_t length)
{
    uint8_t expected[128], wire[HAPTIC_WIRE_MAX];
    int expected_length = wire_of(c, expected);
    uint8_t found = haptic_encode((uint8_t)number(c, "type"), (uint8_t)number(c, "sequence"), payload, length, wire);
    CHECK(found == expected_length && memcmp(wire, expected, found) == 0);
}

static void hello(const test_case *c)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_hello found;
    haptic_frame frame = decoded(c);
    CHECK(haptic_hello_unpack(&found, frame.payload, frame.length));
    CHECK(found.magic == number(c, "magic") && found.magic == HAPTIC_MAGIC);
    CHECK(found.major == number(c, "major") && found.minor == number(c, "minor"));
    CHECK(found.nonce == number(c, "nonce"));
    check_encoded(c, payload, haptic_hello_pack(&found, payload));
}

static void hello_ack(const test_case *c)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_hello_ack found;
    haptic_frame frame = decoded(c);
    CHECK(haptic_hello_ack_unpack(&found, frame.payload, frame.length));
    CHECK(found.major == number(c, "major") && found.minor == number(c, "minor"));
    CHECK(found.nonce == number(c, "nonce"));
    CHECK(found.firmware_version == number(c, "firmware_version"));
    for (int i = 0; i < 8; i++)
        CHECK(found.uid[i] == number_at(c, "uid", i));
    CHECK(found.axes == number(c, "axes"));
    CHECK(found.capabilities == number(c, "capabilities"));
    CHECK(found.max_rate_hz == number(c, "max_rate_hz"));
    check_encoded(c, payload, haptic_hello_ack_pack(&found, payload));
}

static void axis_info_request(const test_case *c)
{
    haptic_frame frame = decoded(c);
    uint8_t index = frame.payload[0];
    CHECK(frame.length == 1 && index == number(c, "index"));
    check_encoded(c, &index, 1);
}

static void axis_info(const test_case *c)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_axis_info found;
    haptic_frame frame = decoded(c);
    CHECK(haptic_axis_info_unpack(&found, frame.payload, frame.length));
    CHECK(found.index == number(c, "index") && found.kind == number(c, "kind"));
    CHECK(found.counts_numerator == number(c, "counts_numerator"));
    CHECK(found.counts_denominator == number(c, "counts_denominator"));
    CHECK(found.minimum == number(c, "minimum") && found.maximum == number(c, "maximum"));
    CHECK(found.full_scale_micro == number(c, "full_scale_micro"));
    CHECK(found.home_flags == number(c, "home_flags"));
    check_encoded(c, payload, haptic_axis_info_pack(&found, payload));
}

static void arm(const test_case *c)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_arm found;
    haptic_frame frame = decoded(c);
    CHECK(haptic_arm_unpack(&found, frame.payload, frame.length));
    CHECK(found.nonce == number(c, "nonce") && found.watchdog_ms == number(c, "watchdog_ms"));
    CHECK(found.axes == value_count(c, "limit"));
    for (int i = 0; i < found.axes; i++)
        CHECK(found.limit[i] == number_at(c, "limit", i));
    CHECK(found.slew == number(c, "slew"));
    check_encoded(c, payload, haptic_arm_pack(&found, payload));
}

static void command(const test_case *c)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_command found;
    haptic_frame frame = decoded(c);
    CHECK(haptic_command_unpack(&found, frame.payload, frame.length));
    CHECK(found.flags == number(c, "flags") && found.axes == value_count(c, "effort"));
    for (int i = 0; i < found.axes; i++)
        CHECK(found.effort[i] == number_at(c, "effort", i));
    check_encoded(c, payload, haptic_command_pack(&found, payload));
}

static void state(const test_case *c)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_state found;
    haptic_frame frame = decoded(c);
    CHECK(haptic_state_unpack(&found, frame.payload, frame.length));
    CHECK(found.acknowledged == number(c, "acknowledged") && found.status == number(c, "status"));
    CHECK(found.sampled_at_us == number(c, "sampled_at_us"));
    CHECK(found.axes == value_count(c, "position"));
    for (int i = 0; i < found.axes; i++) {
        CHECK(found.position[i] == number_at(c, "position", i));
        CHECK(found.velocity[i] == (text(c, "velocity") ? number_at(c, "velocity", i) : 0));
    }
    check_encoded(c, payload, haptic_state_pack(&found, payload));
}

static void stop(const test_case *c)
{
    CHECK(decoded(c).length == 0);
    check_encoded(c, NULL, 0);
}

static void ping(const test_case *c)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    uint32_t found;
    haptic_frame frame = decoded(c);
    CHECK(haptic_ping_unpack(&found, frame.payload, frame.length));
    CHECK(found == number(c, "host_us"));
    check_encoded(c, payload, haptic_ping_pack(found, payload));
}

static void ping_reply(const test_case *c)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_ping_reply found;
    haptic_frame frame = decoded(c);
    CHECK(haptic_ping_reply_unpack(&found, frame.payload, frame.length));
    CHECK(found.host_us == number(c, "host_us"));
    CHECK(found.received_us == number(c, "received_us") && found.sent_us == number(c, "sent_us"));
    check_encoded(c, payload, haptic_ping_reply_pack(&found, payload));
}

static void fault(const test_case *c)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX];
    haptic_fault found;
    haptic_frame frame = decoded(c);
    CHECK(haptic_fault_unpack(&found, frame.payload, frame.length));
    CHECK(found.code == number(c, "code") && found.detail == number(c, "detail"));
    check_encoded(c, payload, haptic_fault_pack(&found, payload));
}

static void log_line(const test_case *c)
{
    haptic_frame frame = decoded(c);
    const char *expected = text(c, "text");
    CHECK(frame.length == strlen(expected) && memcmp(frame.payload, expected, frame.length) == 0);
    check_encoded(c, (const uint8_t *)expected, (uint8_t)strlen(expected));
}

static void bad(const test_case *c)
{
    uint8_t wire[128];
    int length = wire_of(c, wire);
    haptic_frame frame;
    memset(&decoder, 0, sizeof decoder);
    for (int i = 0; i < length; i++)
        CHECK(!haptic_decoder_push(&decoder, wire[i], &frame));
    const char *counts = text(c, "counts");
    CHECK(decoder.frames == 0);
    CHECK(decoder.crc_errors == (strcmp(counts, "crc_error") == 0));
    CHECK(decoder.framing_errors == (strcmp(counts, "framing_error") == 0));
    CHECK(decoder.overlong_errors == (strcmp(counts, "overlong") == 0));
}

/* ---- Beyond the vectors ---- */

static void check_value_of_the_catalogue_holds(void)
{
    CHECK(haptic_crc(HAPTIC_CRC_START, (const uint8_t *)"123456789", 9) == 0x29B1);
}

static void too_long_a_payload_is_rejected(void)
{
    uint8_t payload[HAPTIC_PAYLOAD_MAX + 1] = { 0 }, wire[HAPTIC_WIRE_MAX];
    CHECK(haptic_encode(HAPTIC_LOG, 0, payload, sizeof payload, wire) == 0);
    CHECK(haptic_encode(HAPTIC_LOG, 0, payload, HAPTIC_PAYLOAD_MAX, wire) == HAPTIC_WIRE_MAX);
}

/* After any bytes, the second intact frame is decoded. Sanitizers check the rest. */
static void any_garbage_costs_one_frame_at_most(void)
{
    uint32_t random = 12345;
    haptic_frame frame;
    uint8_t wire[HAPTIC_WIRE_MAX];
    uint8_t length = haptic_encode(HAPTIC_STOP, 9, NULL, 0, wire);
    memset(&decoder, 0, sizeof decoder);
    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < round % 150; i++) {
            random = random * 1664525u + 1013904223u;
            haptic_decoder_push(&decoder, (uint8_t)(random >> 24), &frame);
        }
        bool found = false;
        for (int i = 0; i < 2 * length; i++)
            found = haptic_decoder_push(&decoder, wire[i % length], &frame);
        CHECK(found && frame.type == HAPTIC_STOP && frame.sequence == 9);
    }
}

static void sequence_numbers_wrap(void)
{
    CHECK(haptic_is_newer(0, 255) && !haptic_is_newer(255, 0) && !haptic_is_newer(7, 7));
    CHECK(haptic_is_newer(127, 0) && !haptic_is_newer(128, 0));
}

int main(int count, char **arguments)
{
    static const struct {
        const char *file;
        void (*check)(const test_case *);
    } table[] = {
        { "hello", hello }, { "hello_ack", hello_ack }, { "axis_info_request", axis_info_request },
        { "axis_info", axis_info }, { "arm", arm }, { "arm_ack", arm }, { "command", command }, { "state", state },
        { "stop", stop }, { "ping", ping }, { "ping_reply", ping_reply }, { "fault", fault }, { "log", log_line },
        { "bad", bad },
    };
    CHECK(count == 2);
    int cases = 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        cases += for_each_case(arguments[1], table[i].file, table[i].check);
    check_value_of_the_catalogue_holds();
    too_long_a_payload_is_rejected();
    any_garbage_costs_one_frame_at_most();
    sequence_numbers_wrap();
    printf("protocol: %d vectors and 4 properties passed\n", cases);
    return 0;
}
