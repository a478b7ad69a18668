include "limit";
include "usb";
driven(1000; 10), quadrants(500), admitted, pace(990; 1010),
limit("no fault"; .daemon.faults; .daemon.faults == []),
limit("at most one stale reading"; .daemon.stale; .daemon.stale <= 1)
