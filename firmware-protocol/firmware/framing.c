/* Frames: checksum, COBS, decoder. */
#include "haptic_protocol.h"

enum { ENCODED_MIN = 5 /* COBS code, type, sequence, checksum */ };

/* Eight steps of the polynomial 0x1021 at once. Shifts instead of a table, which needs too much memory here. */
static uint16_t crc_step(uint16_t crc, uint8_t byte)
{
    uint8_t high = (uint8_t)((crc >> 8) ^ byte);
    high ^= (uint8_t)(high >> 4);
    return (uint16_t)((uint16_t)(crc << 8) ^ (uint16_t)((uint16_t)high << 12) ^ (uint16_t)((uint16_t)high << 5) ^ high);
}

uint16_t haptic_crc(uint16_t crc, const uint8_t *bytes, uint8_t length)
{
    while (length--)
        crc = crc_step(crc, *bytes++);
    return crc;
}

/* Replaces each zero in wire[1..end) by the distance to the next, and appends the delimiter. */
static void cobs_encode_in_place(uint8_t *wire, uint8_t end)
{
    uint8_t code_at = 0;
    for (uint8_t at = 1; at < end; at++) {
        if (wire[at] == 0) {
            wire[code_at] = (uint8_t)(at - code_at);
            code_at = at;
        }
    }
    wire[code_at] = (uint8_t)(end - code_at);
    wire[end] = 0;
}

uint8_t haptic_encode(uint8_t type, uint8_t sequence, const uint8_t *payload, uint8_t length,
                      uint8_t wire[HAPTIC_WIRE_MAX])
{
    if (length > HAPTIC_PAYLOAD_MAX)
        return 0;
    wire[1] = type;
    wire[2] = sequence;
    for (uint8_t i = 0; i < length; i++)
        wire[3 + i] = payload[i];
    uint16_t crc = haptic_crc(HAPTIC_CRC_START, &wire[1], (uint8_t)(length + 2));
    wire[3 + length] = (uint8_t)crc;
    wire[4 + length] = (uint8_t)(crc >> 8);
    cobs_encode_in_place(wire, (uint8_t)(length + 5));
    return (uint8_t)(length + HAPTIC_OVERHEAD);
}

/* Restores the zeros; returns false if the codes do not lead exactly to the end. */
static bool cobs_decode_in_place(uint8_t *bytes, uint8_t length)
{
    uint16_t code_at = 0;
    while (code_at < length) {
        uint8_t code = bytes[code_at];
        bytes[code_at] = 0;
        code_at += code;
    }
    return code_at == length;
}

static void collect(haptic_decoder *decoder, uint8_t byte)
{
    if (decoder->length < sizeof decoder->collected) {
        decoder->collected[decoder->length++] = byte;
    } else if (!decoder->overlong) {
        decoder->overlong = true;
        decoder->overlong_errors++;
    }
}

static bool check(haptic_decoder *decoder, uint8_t length, haptic_frame *frame)
{
    uint8_t *bytes = decoder->collected;
    if (!cobs_decode_in_place(bytes, length) || length < ENCODED_MIN) {
        decoder->framing_errors++;
        return false;
    }
    uint16_t found = (uint16_t)(bytes[length - 2] | (uint16_t)bytes[length - 1] << 8);
    if (haptic_crc(HAPTIC_CRC_START, &bytes[1], (uint8_t)(length - 3)) != found) {
        decoder->crc_errors++;
        return false;
    }
    decoder->frames++;
    *frame = (haptic_frame){ bytes[1], bytes[2], &bytes[3], (uint8_t)(length - ENCODED_MIN) };
    return true;
}

bool haptic_decoder_push(haptic_decoder *decoder, uint8_t byte, haptic_frame *frame)
{
    if (byte != 0) {
        collect(decoder, byte);
        return false;
    }
    uint8_t length = decoder->length;
    bool whole = !decoder->overlong && length > 0;
    decoder->length = 0;
    decoder->overlong = false;
    return whole && check(decoder, length, frame);
}
