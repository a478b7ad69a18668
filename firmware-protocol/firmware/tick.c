/* Code of the timer interrupt: sample, check, drive. Nothing here waits, and nothing outside can block it. */
#include "board.h"
#include "device.h"

void haptic_device_end_stream(haptic_device *device)
{
    device->streaming = false;
    device->state_due = false;
}

/* The only path to zero effort: effort is off before this returns, and stays off until ARM. */
static void latch(haptic_device *device, uint8_t code, uint32_t detail)
{
    for (uint8_t i = 0; i < device->config->axes; i++) {
        device->axis[i].target = 0;
        device->axis[i].applied = 0;
        board_apply_effort(i, 0);
    }
    device->enabled = false;
    device->clamped = false;
    /* A silent device stays silent. Only the first fault is reported, but an emergency stop replaces any other. */
    bool replaces = code == HAPTIC_FAULT_EMERGENCY_STOP && device->fault.code != code;
    if (device->mode == HAPTIC_SILENT || (device->mode == HAPTIC_FAULTED && !replaces))
        return;
    device->mode = HAPTIC_FAULTED;
    haptic_device_end_stream(device);
    device->fault = (haptic_fault){ code, detail };
    device->fault_unsent = true;
}

/* The detail of an encoder jump: the axis, and the distance as far as 24 bits hold it. */
static uint32_t jump_detail(uint8_t axis, int32_t distance)
{
    uint32_t counts = (uint32_t)distance < 0xFFFFFF ? (uint32_t)distance : 0xFFFFFF;
    return (uint32_t)axis << 24 | counts;
}

static void sample(haptic_device *device, const int32_t readings[])
{
    device->held = false;
    for (uint8_t i = 0; i < device->config->axes; i++) {
        haptic_track *track = &device->axis[i].track;
        switch (haptic_track_update(track, &device->config->axis[i].track, readings[i])) {
        case HAPTIC_TRACK_GOOD: break;
        case HAPTIC_TRACK_HELD: device->held = true; break;
        case HAPTIC_TRACK_JUMPED:
            latch(device, HAPTIC_FAULT_ENCODER_JUMP, jump_detail(i, track->jump));
            break;
        case HAPTIC_TRACK_LOST:
            device->held = true;
            latch(device, HAPTIC_FAULT_SENSOR, i);
            break;
        }
    }
}

static void check_watchdog(haptic_device *device)
{
    if (device->mode != HAPTIC_ARMED || !device->commanded)
        return;
    if (++device->silent_ticks >= device->watchdog_ticks)
        latch(device, HAPTIC_FAULT_WATCHDOG, device->watchdog_ms);
}

/* Only a rise is slewed. An effort falls at once, and changes its sign by falling to zero and rising from there. */
static void drive_axis(haptic_axis *axis, uint8_t index, uint16_t step)
{
    if (axis->applied == axis->target)
        return;
    int32_t lowest = (axis->applied < 0 ? axis->applied : 0) - (int32_t)step;
    int32_t highest = (axis->applied > 0 ? axis->applied : 0) + (int32_t)step;
    if (axis->target < lowest)
        axis->applied = (int16_t)lowest;
    else if (axis->target > highest)
        axis->applied = (int16_t)highest;
    else
        axis->applied = axis->target;
    board_apply_effort(index, axis->applied);
}

static void drive(haptic_device *device)
{
    if (device->mode != HAPTIC_ARMED)
        return;
    /* The steps of any ticks_per_ms consecutive ticks add up to exactly the slew per millisecond. */
    uint16_t step = device->slew_per_tick + (device->subtick < device->slew_rest);
    for (uint8_t i = 0; i < device->config->axes; i++)
        drive_axis(&device->axis[i], i, step);
}

static void count_milliseconds(haptic_device *device)
{
    if (++device->subtick < device->config->ticks_per_ms)
        return;
    device->subtick = 0;
    device->state_due = device->streaming;
}

void haptic_device_emergency_stop(haptic_device *device, bool active)
{
    device->stop_active = active;
    if (active)
        latch(device, HAPTIC_FAULT_EMERGENCY_STOP, 0);
}

void haptic_device_tick(haptic_device *device, const int32_t readings[], uint32_t sampled_at_us)
{
    sample(device, readings);
    device->sampled_at_us = sampled_at_us;
    check_watchdog(device);
    drive(device);
    count_milliseconds(device);
}
