/* Converts sensor readings to a position without wraps and jumps. */
#ifndef HAPTIC_TRACK_H
#define HAPTIC_TRACK_H

#include <stdbool.h>
#include <stdint.h>

/* Reading of a sensor without a valid value. */
#define HAPTIC_NO_READING INT32_MIN

typedef struct haptic_track_config {
    int32_t wrap_counts; /* period of the readings; 0 for an absolute sensor */
    int32_t jump_counts; /* largest motion between two ticks; well below half of wrap_counts */
    uint16_t ticks_per_second;
} haptic_track_config;

typedef struct haptic_track {
    int32_t position; /* counts */
    int32_t velocity; /* counts per second, low-passed over 2^HAPTIC_VELOCITY_SHIFT ticks */
    int32_t last_reading;
    int32_t velocity_sum;
    int32_t jump; /* distance of the last rejected reading */
    uint8_t rejected;
    bool started;
} haptic_track;

typedef enum haptic_track_result {
    HAPTIC_TRACK_GOOD,
    HAPTIC_TRACK_HELD,
    HAPTIC_TRACK_JUMPED,
    HAPTIC_TRACK_LOST
} haptic_track_result;

/* A sensor sampled during its wrap gives one invalid reading, during which the position is held; a second is a fault. */
enum { HAPTIC_READINGS_HELD = 1, HAPTIC_VELOCITY_SHIFT = 5 };

haptic_track_result haptic_track_update(haptic_track *track, const haptic_track_config *config, int32_t reading);

#endif
