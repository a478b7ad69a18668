# What must hold whenever the post is felt through an emulated device; the limits of each test choose from these.
def limit(claim; seen; holds): {claim: claim, seen: (seen | tostring), holds: holds};

# The device was driven as it should be, all the time.
def driven(rate_hz; seconds):
  limit("no mistake in the eyes of the device"; [.device.mistakes, .device.mistake_texts]; .device.mistakes == 0),
  limit("no command lost, by the device and by the daemon"; [.device.lost, .daemon.device.frames_lost];
    .device.lost == 0 and .daemon.device.frames_lost == 0),
  limit("no message damaged"; .daemon.device.crc_errors; .daemon.device.crc_errors == 0),
  limit("every tick ran"; .daemon.ticks; .daemon.ticks == seconds * 1000),
  limit("no overrun"; .daemon.overruns; .daemon.overruns == 0),
  limit("served at its rate, Hz"; .daemon.device.rate_hz; (.daemon.device.rate_hz - rate_hz | fabs) < 0.5),
  limit("no force is left at the end, N"; .device.lives[-1].force_end_n; all(.device.lives[-1].force_end_n[]; . == 0));

# Nothing went wrong on the way.
def well:
  limit("no fault"; .daemon.faults; .daemon.faults == []),
  limit("no stale reading"; .daemon.stale; .daemon.stale == 0);

# Forces that arrive in a second. Effects are started again in between, which takes some of the reports.
def pace(fewest; most):
  limit("forces that arrive in the busiest second"; .device.taken_in_busiest_s;
    .device.taken_in_busiest_s >= fewest and .device.taken_in_busiest_s <= most);

# The motors did what the guard let through, at about that time, and nothing else.
def admitted:
  limit("every force at the motors was let through by the guard"; .matches; all(.matches[]; .unmatched == 0)),
  limit("they are many"; [.matches[].forces]; .matches[0].forces > 1000);

# The post pushes away from its middle from every side.
def quadrants(fewest):
  limit("the post was felt, N"; .device.lives[0].force_max_n; .device.lives[0].force_max_n > 0.5),
  limit("every quadrant was visited"; [.device.quadrants[].samples]; all(.device.quadrants[]; .samples > fewest)),
  limit("the force pushes away in every quadrant"; [.device.quadrants[].wrong]; all(.device.quadrants[]; .wrong == 0)),
  limit("in the right direction, degrees off"; [.device.quadrants[].angle_max_deg];
    all(.device.quadrants[]; .angle_max_deg < 10)),
  limit("mean forces, N"; [.device.quadrants[].mean_force_n];
    all(.device.quadrants[]; .signs[0] * .mean_force_n[0] > 0.2 and .signs[1] * .mean_force_n[1] > 0.2));

def felt(rate_hz; seconds): driven(rate_hz; seconds), well, quadrants(500), admitted;
