# Limits for the post on an emulated device; each test selects from these.
include "limit";

# The device was driven correctly throughout.
def driven(rate_hz; seconds):
  limit("no error counted by the device"; [.device.mistakes, .device.mistake_texts]; .device.mistakes == 0),
  limit("no command lost, by the device and by the daemon"; [.device.lost, .daemon.device.frames_lost];
    .device.lost == 0 and .daemon.device.frames_lost == 0),
  limit("no message damaged"; .daemon.device.crc_errors; .daemon.device.crc_errors == 0),
  limit("every tick ran"; .daemon.ticks; .daemon.ticks == seconds * 1000),
  limit("no overrun"; .daemon.overruns; .daemon.overruns == 0),
  limit("service rate, Hz"; .daemon.device.rate_hz; (.daemon.device.rate_hz - rate_hz | fabs) < 0.5),
  limit("zero force at the end, N"; .device.lives[-1].force_end_n; all(.device.lives[-1].force_end_n[]; . == 0));

# No fault and no stale reading.
def nominal:
  limit("no fault"; .daemon.faults; .daemon.faults == []),
  limit("no stale reading"; .daemon.stale; .daemon.stale == 0);

# Forces that arrive within a second. Restarting effects takes some of the reports.
def pace(min; max):
  limit("forces that arrive in the busiest second"; .device.taken_in_busiest_s;
    .device.taken_in_busiest_s >= min and .device.taken_in_busiest_s <= max);

# The motors exerted the forces that the guard admitted, at about that time, and no others.
def admitted:
  limit("every force at the motors was admitted by the guard"; .matches; all(.matches[]; .unmatched == 0)),
  limit("number of forces"; [.matches[].forces]; .matches[0].forces > 1000);

# The post pushes away from its centre on every side.
def quadrants(min):
  limit("the post pushes, N"; .device.lives[0].force_max_n; .device.lives[0].force_max_n > 0.5),
  limit("every quadrant was visited"; [.device.quadrants[].samples]; all(.device.quadrants[]; .samples > min)),
  limit("the force pushes away in every quadrant"; [.device.quadrants[].wrong]; all(.device.quadrants[]; .wrong == 0)),
  limit("in the right direction, degrees off"; [.device.quadrants[].angle_max_deg];
    all(.device.quadrants[]; .angle_max_deg < 10)),
  limit("mean forces, N"; [.device.quadrants[].mean_force_n];
    all(.device.quadrants[]; .signs[0] * .mean_force_n[0] > 0.2 and .signs[1] * .mean_force_n[1] > 0.2));

def rendered(rate_hz; seconds): driven(rate_hz; seconds), nominal, quadrants(500), admitted;
