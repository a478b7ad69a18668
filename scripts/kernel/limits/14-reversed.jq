# Limits for reversed motors and encoders.
include "limit";
limit("a reversed axis ends the run, and the message names its key"; [.axes[] | [.code, .named]];
  all(.axes[]; .code == 1 and .named > 0)),
limit("with the fault reversed-axis"; [.axes[].rejected.faults[].kind];
  all(.axes[]; [.rejected.faults[].kind] == ["reversed-axis"])),
limit("no force but the nudge, N"; [.axes[].rejected.force_max_n]; all(.axes[]; .rejected.force_max_n < 0.43)),
limit("with its key, both signs are right"; [.axes[].corrected.signs];
  all(.axes[]; .corrected.signs == ["right", "right"])),
limit("and no fault"; [.axes[].corrected.faults]; all(.axes[]; .corrected.faults == []))
