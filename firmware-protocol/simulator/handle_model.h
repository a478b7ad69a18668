/* A handle with mass and damping, driven by a motor and held by a hand that follows a slow sine. */
#ifndef HANDLE_MODEL_H
#define HANDLE_MODEL_H

typedef struct handle_model {
    double mass_kg;
    double damping_n_s_per_m;
    double hand_stiffness_n_per_m; /* 0: no hand */
    double hand_amplitude_m;
    double hand_frequency_hz;
    double stop_m;                 /* end of travel, on both sides */
    double position_m, velocity_m_per_s, time_s;
} handle_model;

handle_model handle_at_rest(void);

/* Advances by one step, semi-implicit. Stable for steps well below the period of hand and mass. */
void handle_advance(handle_model *handle, double motor_force_n, double step_s);

#endif
