/**
 * Types of the daemon's API, as in docs/api.md. Numbers are in SI units, with the unit in the key.
 *
 * @typedef {[number, number]} Vector x and y.
 *
 * @typedef {object} Shape Has exactly one of these keys.
 * @property {Vector} [box_m] Full width and height, centred.
 * @property {number} [disc_radius_m]
 * @property {Vector[]} [polygon_m]
 * @property {{length_m: number, radius_m: number}} [capsule_m] Along x; the length is between the centres of its ends.
 * @property {{points_m: Vector[], thickness_m: number, closed: boolean, outlines_m: Vector[][]}} [walls_m]
 *
 * @typedef {Shape & {position_m: Vector, angle_rad: number, rounding_m: number}} PlacedShape A shape in the body's frame.
 *
 * @typedef {object} Body Has either `shape` or `shapes`.
 * @property {string} name
 * @property {boolean} fixed
 * @property {Shape} [shape] Its frame is the body's.
 * @property {PlacedShape[]} [shapes]
 * @property {number} [rounding_m] Of `shape`.
 * @property {Vector} position_m Position of the body's frame at the start.
 * @property {number} angle_rad Angle at the start.
 * @property {string} colour As #rrggbb.
 * @property {number} layer Bodies of different layers do not collide.
 * @property {number} [friction]
 * @property {number} [restitution]
 * @property {number|null} [mass_kg]
 *
 * @typedef {object} Joint
 * @property {'hinge'|'slider'|'weld'} kind
 * @property {[number, number]} bodies
 * @property {Vector} anchor_m In the world, at the start.
 * @property {Vector} [axis] Of a slider, in the world, at the start.
 *
 * @typedef {object} Scene
 * @property {number} scene_id
 * @property {string} name
 * @property {Vector} gravity_m_per_s2
 * @property {Body[]} bodies
 * @property {number[]} moving Indices of the dynamic bodies, in the order of a state's poses.
 * @property {{body: number, name: string, handle_m: Vector}|null} tool
 * @property {Joint[]} [joints]
 * @property {[Vector, Vector]} bounds_m
 * @property {number|null} hand_resumes_s Time after a release until the hand’s own path resumes, s; null without a path.
 *
 * @typedef {object} Contact
 * @property {Vector} point_m
 * @property {Vector} normal From the first body to the second.
 * @property {Vector} force_n On the second body; the first gets the opposite.
 * @property {[number, number]} bodies
 *
 * @typedef {object} Fault
 * @property {number} tick
 * @property {string} kind
 * @property {string} text
 *
 * @typedef {object} State
 * @property {number} scene_id
 * @property {number} tick
 * @property {number} t_s
 * @property {boolean} paused
 * @property {string} phase
 * @property {number} share Engagement fraction, 0 to 1.
 * @property {Vector} hand_m
 * @property {boolean} hand_guided
 * @property {boolean} [leads] Whether this page controls the hand.
 * @property {{position_m: Vector, angle_rad: number, handle_m: Vector}|null} tool The handle is in the world.
 * @property {[number, number, number][]} bodies x, y, angle of each dynamic body.
 * @property {number[]} [removed] Indices of the bodies that left the bounds of the scene and are not drawn any more.
 * @property {Vector} force_n On the hand, after the guard.
 * @property {Vector} coupling_force_n On the hand, before the guard.
 * @property {Contact[]} contacts
 * @property {number} normal_force_n
 * @property {number} tangent_force_n
 * @property {number} penetration_m
 * @property {Record<string, number>} energy
 * @property {number} tank_j
 * @property {boolean} stale
 * @property {Fault|null} fault
 * @property {number} faults
 * @property {string|null} caption
 * @property {{file: string, seconds: number, bytes: number}|null} recording
 * @property {number[][]} [samples] Decimated ticks: t_s, hand x y, tool x y, force x y, energy_j, tank_j, compute_ns.
 *
 * @typedef {object} Coupling
 * @property {number} stiffness_n_per_m
 * @property {number} damping_n_s_per_m
 * @property {number} angular_stiffness_n_m_per_rad
 * @property {number} angular_damping_n_m_s_per_rad
 *
 * @typedef {object} RegionPoint
 * @property {number} damping_n_s_per_m
 * @property {number} stiffness_passive_n_per_m
 * @property {number} stiffness_stable_n_per_m
 *
 * @typedef {object} Device
 * @property {string} name
 * @property {string} kind
 * @property {number} axes
 * @property {boolean} can_be_guided Whether its hand is simulated and can be moved by the page.
 * @property {number} max_force_n
 * @property {Record<string, number|number[]>|null} [model]
 *
 * @typedef {object} Limits Limits of the gains.
 * @property {number} max_force_n
 * @property {[number, number]} stiffness_n_per_m
 * @property {[number, number]} damping_n_s_per_m
 *
 * @typedef {object} Settings
 * @property {Coupling} coupling
 * @property {Limits} limits
 * @property {Record<string, any>} safety
 * @property {{passive: boolean, stable: boolean, text: string, region: RegionPoint[]}} stability
 * @property {Device} device
 * @property {string} version
 *
 * @typedef {{p50: number, p99: number, p999: number, max: number}} Percentiles
 *
 * @typedef {object} Timing
 * @property {number} rate_hz
 * @property {number} budget_ns
 * @property {number} ticks
 * @property {number} overruns
 * @property {number} skipped
 * @property {Percentiles} wake_ns
 * @property {Percentiles} compute_ns
 * @property {[number, number][]} wake_histogram Upper bound in ns, count.
 * @property {[number, number][]} compute_histogram Upper bound in ns, count.
 *
 * @typedef {object} SceneEntry
 * @property {string} name
 * @property {string} title
 * @property {string} description
 * @property {string} thumbnail
 */

/** Indices of the values of a sample. */
export const SAMPLE = Object.freeze({
    time: 0, handX: 1, handY: 2, toolX: 3, toolY: 4, forceX: 5, forceY: 6, energy: 7, tank: 8, compute: 9,
});

/** The newest pose of every body: dynamic ones from the state, fixed ones from the scene.
 * @param {Scene} scene
 * @param {State|null} state
 * @returns {[number, number, number][]} x, y, angle in the order of the scene's bodies */
export function poses(scene, state) {
    /** @type {[number, number, number][]} */
    const all = scene.bodies.map(({ position_m: [x, y], angle_rad }) => [x, y, angle_rad]);
    if (state && state.scene_id === scene.scene_id) {
        scene.moving.forEach((body, index) => { all[body] = state.bodies[index] ?? all[body]; });
    }
    return all;
}
