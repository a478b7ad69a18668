/* Hapkit: one linear handle on an ATmega328P at 16 MHz.
 *
 *   sensor  magnetoresistive, analog on A2; its reading repeats every half turn of the motor's magnet
 *   motor   PWM on pin 5 (PD5, OC0B), direction on pin 8 (PB0, high: towards increasing positions)
 *   host    UART at 1 Mbaud, 8N1; most boards reset, and thus disarm, when the port is opened
 *   stop    with EMERGENCY_STOP defined: a normally-closed contact from pin 2 (PD2, INT0) to ground. The pull-up makes
 *           the input high, and thus active, when the contact opens or a wire breaks.
 *
 * Timer 2 ticks at 4 kHz and runs sampling, watchdog and drive with interrupts enabled, so that the UART, with a byte
 * every 160 cycles, never waits. The chip's own watchdog resets it if the tick stops.
 */
#include "board.h"
#include "device.h"

#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>

enum {
    TICKS_PER_MS = 4,
    TICK_US = 1000 / TICKS_PER_MS,
    TIMER_PRESCALER = 32,
    TIMER_TOP = F_CPU / TIMER_PRESCALER / (1000UL * TICKS_PER_MS) - 1,
    TIMER_US = TIMER_PRESCALER / (F_CPU / 1000000UL), /* microseconds per count */
    BAUD_DIVISOR = F_CPU / 8 / 1000000UL - 1,         /* double speed, 1 Mbaud: exact at 16 MHz */

    SENSOR_SPAN = 980,        /* counts before the reading repeats */
    SENSOR_LOW_RAIL = 4,      /* a working sensor never reads this close to ground or supply */
    SENSOR_HIGH_RAIL = 1019,
    JUMP_COUNTS = 100,        /* per tick: 5.6 m/s, faster than any hand */

    RING_SIZE = 128           /* two frames of maximum length; a power of two, at most 128 */
};

/* Handle radius 70 mm, sector 74 mm, pulley 5 mm: 14 micrometres per count; 30 mNm at the motor are 6.34 N at the
 * hand. Builds differ by a few percent; the host calibrates. */
static haptic_device_config config = {
    .firmware_version = 0x010200,
    .uid = { 'H', 'A', 'P', 'K', 'I', 'T', '0', '0' },
    .axes = 1,
    .capabilities = HAPTIC_CAN_VELOCITY | HAPTIC_CAN_STREAM,
    .max_rate_hz = 1000,
    .ticks_per_ms = TICKS_PER_MS,
    .slew_q15_per_ms = 8192,
    .axis = { {
        .info = {
            .index = 0,
            .kind = HAPTIC_LINEAR,
            .counts_numerator = 1000000,
            .counts_denominator = 14,
            .minimum = -3600,
            .maximum = 3600,
            .full_scale_micro = 6342857,
            .home_flags = HAPTIC_ZERO_AT_BOOT,
        },
        .track = { .wrap_counts = SENSOR_SPAN, .jump_counts = JUMP_COUNTS, .ticks_per_second = 1000 * TICKS_PER_MS },
        .limit_q15 = HAPTIC_FULL_SCALE,
    } },
};

/* Identifier of the board, written with the programmer. An erased memory selects the built-in one. */
static uint8_t EEMEM stored_uid[8] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };

static haptic_device device;
static volatile uint32_t ticks;

/* ---- UART ---- */

typedef struct ring {
    uint8_t bytes[RING_SIZE];
    volatile uint8_t head, tail; /* written by the producer and by the consumer; both wrap */
} ring;

static ring received, to_send;

static uint8_t ring_used(const ring *r)
{
    return (uint8_t)(r->head - r->tail);
}

ISR(USART_RX_vect)
{
    uint8_t byte = UDR0;
    /* A full ring drops the byte; the checksum then rejects the frame. */
    if (ring_used(&received) < RING_SIZE)
        received.bytes[received.head++ % RING_SIZE] = byte;
}

ISR(USART_UDRE_vect)
{
    if (ring_used(&to_send) == 0)
        UCSR0B &= (uint8_t)~(1 << UDRIE0);
    else
        UDR0 = to_send.bytes[to_send.tail++ % RING_SIZE];
}

void board_send(const uint8_t *bytes, uint8_t length)
{
    /* All or nothing: a partial frame would also damage the next. */
    if (RING_SIZE - ring_used(&to_send) < length)
        return;
    for (uint8_t i = 0; i < length; i++)
        to_send.bytes[(uint8_t)(to_send.head + i) % RING_SIZE] = bytes[i];
    board_lock();
    to_send.head = (uint8_t)(to_send.head + length);
    UCSR0B |= 1 << UDRIE0;
    board_unlock();
}

static void start_uart(void)
{
    UCSR0A = 1 << U2X0;
    UCSR0C = 3 << UCSZ00;
    UBRR0 = BAUD_DIVISOR;
    UCSR0B = 1 << RXCIE0 | 1 << RXEN0 | 1 << TXEN0;
}

/* ---- Motor ---- */

/* The torque grows with the square of the duty, so the duty is the square root of the effort: sqrt(2 * 32767) = 255. */
static uint8_t duty_for(uint16_t effort)
{
    uint16_t square = (uint16_t)(effort << 1);
    uint8_t root = 0;
    for (uint8_t bit = 0x80; bit; bit >>= 1) {
        uint16_t trial = root | bit;
        if ((uint16_t)(trial * trial) <= square)
            root = (uint8_t)trial;
    }
    return root;
}

/* Whether the emergency stop holds the motor pin low. Set by its interrupt or by a tick, cleared by a tick that finds
 * the contact closed; constant without the input. */
static volatile bool motor_cut;

/* With the lock, because the emergency stop may interrupt a tick between its decision and this. */
static void set_duty(uint8_t duty)
{
    uint8_t status = SREG;
    cli();
    if (!motor_cut) {
        OCR0B = duty;
        TCCR0A |= 1 << COM0B1;
    }
    SREG = status;
}

void board_apply_effort(uint8_t axis, int16_t effort)
{
    (void)axis;
    if (effort < 0)
        PORTB &= (uint8_t)~(1 << PORTB0);
    else
        PORTB |= 1 << PORTB0;
    set_duty(effort == 0 ? 0 : duty_for((uint16_t)(effort < 0 ? -effort : effort)));
}

/* Phase-correct at 31 kHz: inaudible, and a duty of zero gives no pulse at all, unlike fast PWM. */
static void start_motor(void)
{
    OCR0B = 0;
    TCCR0A = 1 << COM0B1 | 1 << WGM00;
    TCCR0B = 1 << CS00;
    DDRD |= 1 << DDD5;
    DDRB |= 1 << DDB0;
}

/* ---- Emergency stop ---- */

#ifdef EMERGENCY_STOP

static bool contact_is_open(void)
{
    return PIND & 1 << PIND2;
}

/* Drives the pin low at once: a new duty would wait for the end of the PWM period. Requires the lock. */
static void cut_motor(void)
{
    TCCR0A &= (uint8_t)~(1 << COM0B1);
    OCR0B = 0;
    motor_cut = true;
}

/* Interference shorter than the interrupt takes to get here is ignored. */
ISR(INT0_vect)
{
    if (contact_is_open())
        cut_motor();
}

static void start_emergency_stop(void)
{
    PORTD |= 1 << PORTD2;
    EICRA = 1 << ISC00;
    EIMSK = 1 << INT0;
}

/* Whether the contact is open, or was since the last call. */
static bool take_stop(void)
{
    cli();
    bool active = motor_cut;
    motor_cut = false;
    if (contact_is_open()) {
        cut_motor();
        active = true;
    }
    sei();
    return active;
}

#else

static void start_emergency_stop(void) {}

static bool take_stop(void)
{
    return false;
}

#endif

/* ---- Sensor ---- */

/* Free-running, one conversion every 52 microseconds. */
static void start_sensor(void)
{
    ADMUX = 1 << REFS0 | 2;
    DIDR0 = 1 << ADC2D;
    ADCSRB = 0;
    ADCSRA = 1 << ADEN | 1 << ADSC | 1 << ADATE | 1 << ADPS2 | 1 << ADPS1;
}

static int32_t read_sensor(void)
{
    uint16_t reading = ADC;
    return reading <= SENSOR_LOW_RAIL || reading >= SENSOR_HIGH_RAIL ? HAPTIC_NO_READING : (int32_t)reading;
}

/* ---- Time ---- */

/* Other interrupts stay enabled. A tick takes far less than its period, so it cannot interrupt itself. */
ISR(TIMER2_COMPA_vect, ISR_NOBLOCK)
{
    int32_t reading = read_sensor();
    wdt_reset();
    haptic_device_emergency_stop(&device, take_stop());
    haptic_device_tick(&device, &reading, ++ticks * TICK_US);
}

static void start_clock(void)
{
    OCR2A = TIMER_TOP;
    TCCR2A = 1 << WGM21;
    TCCR2B = 1 << CS21 | 1 << CS20;
    TIMSK2 = 1 << OCIE2A;
}

uint32_t board_micros(void)
{
    board_lock();
    uint32_t whole = ticks;
    uint8_t count = TCNT2;
    /* The timer may have wrapped while interrupts were disabled. */
    if ((TIFR2 & 1 << OCF2A) && count < TIMER_TOP / 2)
        whole++;
    board_unlock();
    return whole * TICK_US + (uint32_t)count * TIMER_US;
}

void board_lock(void)
{
    cli();
}

void board_unlock(void)
{
    sei();
}

/* ---- Start ---- */

static void read_uid(void)
{
    uint8_t uid[8];
    eeprom_read_block(uid, stored_uid, sizeof uid);
    if (uid[0] == 0xFF)
        return;
    for (uint8_t i = 0; i < sizeof uid; i++)
        config.uid[i] = uid[i];
}

static void start(void)
{
    MCUSR = 0;
    wdt_disable();
    read_uid();
    haptic_device_init(&device, &config);
    start_motor();
    start_emergency_stop();
    start_sensor();
    /* The first conversion takes 25 clocks; an earlier tick would read an invalid value. */
    while (!(ADCSRA & 1 << ADIF)) {}
    start_uart();
    start_clock();
    wdt_enable(WDTO_15MS);
    set_sleep_mode(SLEEP_MODE_IDLE);
    sleep_enable();
    sei();
}

/* Sleeps until the next interrupt, unless a byte has arrived. sei takes effect one instruction later. */
static void sleep_until_interrupt(void)
{
    cli();
    if (ring_used(&received) == 0) {
        sei();
        sleep_cpu();
    }
    sei();
}

int main(void)
{
    start();
    for (;;) {
        while (ring_used(&received) > 0)
            haptic_device_receive(&device, received.bytes[received.tail++ % RING_SIZE]);
        haptic_device_poll(&device);
        sleep_until_interrupt();
    }
}
