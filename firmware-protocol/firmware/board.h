/* Functions that a board provides to the device core. Each board_*.c implements all of them. */
#ifndef HAPTIC_BOARD_H
#define HAPTIC_BOARD_H

#include <stdint.h>

/* Sends bytes to the host without waiting; drops bytes that do not fit. Called from the main loop only. */
void board_send(const uint8_t *bytes, uint8_t length);

/* Applies an effort, Q15 of full scale, positive towards increasing positions. Called from the tick, and from the main
 * loop under the lock. Must take effect at once and must not wait. Ignored while an emergency stop cuts the motors. */
void board_apply_effort(uint8_t axis, int16_t effort_q15);

/* The board's clock in microseconds; wraps. Called from the main loop. */
uint32_t board_micros(void);

/* The tick does not run between these. Hold the lock briefly, or bytes may be lost. */
void board_lock(void);
void board_unlock(void);

#endif
