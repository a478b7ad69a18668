include "limit";
include "usb";
driven(1000; 13), admitted,
limit("it was connected twice"; .device.lives | length; (.device.lives | length) == 2),
limit("the daemon reported the loss"; [.daemon.faults[].kind]; (.daemon.faults | length) > 0),
limit("and reconnected"; .daemon.device.reconnects; .daemon.device.reconnects == 1),
limit("the post pushes before and after, N"; [.device.lives[].force_max_n]; all(.device.lives[]; .force_max_n > 0.5)),
limit("the force pushes away in every quadrant"; [.device.quadrants[].wrong]; all(.device.quadrants[]; .wrong == 0))
