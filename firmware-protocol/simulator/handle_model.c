#include "handle_model.h"

#include <math.h>

static const double TURN_RAD = 6.283185307179586;

handle_model handle_at_rest(void)
{
    return (handle_model){
        .mass_kg = 0.1,
        .damping_n_s_per_m = 1.0,
        .hand_stiffness_n_per_m = 100.0,
        .hand_amplitude_m = 0.0,
        .hand_frequency_hz = 0.5,
        .stop_m = 0.05,
    };
}

/* Rigid stops without rebound. */
static void apply_stops(handle_model *handle)
{
    double outside_m = fabs(handle->position_m) - handle->stop_m;
    if (outside_m <= 0.0)
        return;
    handle->position_m = copysign(handle->stop_m, handle->position_m);
    handle->velocity_m_per_s = 0.0;
}

void handle_advance(handle_model *handle, double motor_force_n, double step_s)
{
    double hand_m = handle->hand_amplitude_m * sin(TURN_RAD * handle->hand_frequency_hz * handle->time_s);
    double hand_n = handle->hand_stiffness_n_per_m * (hand_m - handle->position_m);
    double force_n = motor_force_n + hand_n - handle->damping_n_s_per_m * handle->velocity_m_per_s;
    handle->velocity_m_per_s += force_n / handle->mass_kg * step_s;
    handle->position_m += handle->velocity_m_per_s * step_s;
    handle->time_s += step_s;
    apply_stops(handle);
}
