/* What a board gives to the device core. One board_*.c implements all of it. */
#ifndef HAPTIC_BOARD_H
#define HAPTIC_BOARD_H

#include <stdint.h>

/* Hands bytes to the host. Called from the main loop only; bytes that do not fit are dropped, never waited for. */
void board_send(const uint8_t *bytes, uint8_t length);

/* Pushes with this Q15 share of full scale; positive towards growing positions. Called from the tick, and from the main
 * loop under the lock; must take effect at once and must not wait. */
void board_apply_effort(uint8_t axis, int16_t effort_q15);

/* The board's clock in microseconds; wraps. Called from the main loop. */
uint32_t board_micros(void);

/* Between these the tick does not run. Short: bytes may be lost otherwise. */
void board_lock(void);
void board_unlock(void);

#endif
