include "limit";
include "usb";
limit("no error counted by the device"; [.device.mistakes, .device.mistake_texts]; .device.mistakes == 0),
limit("it pushed, N"; .device.lives[0].force_max_n; .device.lives[0].force_max_n > 0.5),
limit("its effects expired, ms after the daemon's last report"; .device.lives[0].expired_after_ms;
  .device.lives[0].expired_after_ms != null and .device.lives[0].expired_after_ms < 150),
limit("force after the end of the daemon, ms"; .device.force_outlives_host_ms; .device.force_outlives_host_ms < 150),
limit("zero force at the end, N"; .device.lives[0].force_end_n; all(.device.lives[0].force_end_n[]; . == 0))
