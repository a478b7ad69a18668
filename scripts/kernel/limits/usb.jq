# What must hold whenever a room is felt through an emulated device; `felt` is called by the limits of each test.
def limit(claim; seen; holds): {claim: claim, seen: (seen | tostring), holds: holds};
def felt(rate_hz; seconds):
  limit("no mistake in the eyes of the device"; [.device.mistakes, .device.mistake_texts]; .device.mistakes == 0),
  limit("no command lost"; .device.lost; .device.lost == 0),
  limit("every tick ran"; .daemon.ticks; .daemon.ticks == seconds * 1000),
  limit("no overrun"; .daemon.overruns; .daemon.overruns == 0),
  limit("no fault"; .daemon.faults; .daemon.faults == []),
  limit("served at its rate, Hz"; .daemon.device.rate_hz; .daemon.device.rate_hz == rate_hz),
  limit("the walls were felt, N"; .device.force_max_n; .device.force_max_n > 0.5),
  limit("every quadrant was visited"; [.device.quadrants[].samples]; all(.device.quadrants[]; .samples > 500)),
  limit("the force pushes back in every quadrant"; .device.quadrants; all(.device.quadrants[]; .wrong == 0)),
  limit("no force outlives its host by a quarter of a second, ms"; .device.force_outlives_host_ms; .device.force_outlives_host_ms < 250),
  limit("no force is left at the end, N"; .device.force_end_n; all(.device.force_end_n[]; . == 0));
