/* From sensor readings to a position that neither wraps nor jumps. */
#ifndef HAPTIC_TRACK_H
#define HAPTIC_TRACK_H

#include <stdbool.h>
#include <stdint.h>

/* What a board reports when a sensor gives nothing usable. */
#define HAPTIC_NO_READING INT32_MIN

typedef struct haptic_track_config {
    int32_t wrap_counts; /* readings repeat after so many counts; 0: they do not, and the sensor is absolute */
    int32_t jump_counts; /* between two ticks no motion goes further than this; with a wrap, well below half of it */
    uint16_t ticks_per_second;
} haptic_track_config;

typedef struct haptic_track {
    int32_t position; /* counts */
    int32_t velocity; /* counts per second, low-passed over 2^HAPTIC_VELOCITY_SHIFT ticks */
    int32_t last_reading;
    int32_t velocity_sum;
    int32_t jump; /* how far the last refused reading lay away */
    uint8_t refused;
    bool started;
} haptic_track;

typedef enum haptic_track_result { HAPTIC_TRACK_GOOD, HAPTIC_TRACK_HELD, HAPTIC_TRACK_JUMPED, HAPTIC_TRACK_LOST } haptic_track_result;

/* A sensor caught in the middle of its wrap gives one wild reading, which is held over; a second one is a fault. */
enum { HAPTIC_READINGS_HELD = 1, HAPTIC_VELOCITY_SHIFT = 5 };

haptic_track_result haptic_track_update(haptic_track *track, const haptic_track_config *config, int32_t reading);

#endif
