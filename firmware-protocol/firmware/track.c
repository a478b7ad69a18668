#include "track.h"

static int32_t magnitude(int32_t value)
{
    return value < 0 ? -value : value;
}

/* The shorter of the two distances around the wrap. */
static int32_t fold(int32_t difference, int32_t wrap)
{
    if (wrap == 0)
        return difference;
    if (difference > wrap / 2)
        return difference - wrap;
    if (difference < -(wrap / 2))
        return difference + wrap;
    return difference;
}

static haptic_track_result start(haptic_track *track, const haptic_track_config *config, int32_t reading)
{
    track->started = true;
    track->last_reading = reading;
    track->position = config->wrap_counts ? 0 : reading;
    return HAPTIC_TRACK_GOOD;
}

/* Holds the position. After too many consecutive rejections it reports a fault and continues from this reading. */
static haptic_track_result reject(haptic_track *track, int32_t reading, int32_t jump)
{
    track->jump = jump;
    if (track->rejected < HAPTIC_READINGS_HELD) {
        track->rejected++;
        return HAPTIC_TRACK_HELD;
    }
    if (reading == HAPTIC_NO_READING)
        return HAPTIC_TRACK_LOST;
    track->rejected = 0;
    track->last_reading = reading;
    return HAPTIC_TRACK_JUMPED;
}

static void advance(haptic_track *track, const haptic_track_config *config, int32_t reading, int32_t moved)
{
    track->rejected = 0;
    track->last_reading = reading;
    track->position += moved;
    track->velocity_sum += moved * (int32_t)config->ticks_per_second - track->velocity;
    /* All compilers used here shift negative numbers arithmetically; a division would cost 600 cycles. */
    track->velocity = track->velocity_sum >> HAPTIC_VELOCITY_SHIFT;
}

haptic_track_result haptic_track_update(haptic_track *track, const haptic_track_config *config, int32_t reading)
{
    if (reading == HAPTIC_NO_READING)
        return reject(track, reading, 0);
    if (!track->started)
        return start(track, config, reading);
    int32_t moved = fold(reading - track->last_reading, config->wrap_counts);
    if (magnitude(moved) > config->jump_counts * (int32_t)(track->rejected + 1))
        return reject(track, reading, magnitude(moved));
    advance(track, config, reading, moved);
    return HAPTIC_TRACK_GOOD;
}
