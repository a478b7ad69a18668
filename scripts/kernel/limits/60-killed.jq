include "usb";
limit("no mistake in the eyes of the device"; [.device.mistakes, .device.mistake_texts]; .device.mistakes == 0),
limit("it pushed, N"; .device.lives[0].force_max_n; .device.lives[0].force_max_n > 0.5),
limit("its effects ran out of time, ms after the last word of the daemon"; .device.lives[0].expired_after_ms;
  .device.lives[0].expired_after_ms != null and .device.lives[0].expired_after_ms < 250),
limit("no force outlives the daemon by a quarter of a second, ms"; .device.force_outlives_host_ms; .device.force_outlives_host_ms < 250),
limit("no force is left at the end, N"; .device.lives[0].force_end_n; all(.device.lives[0].force_end_n[]; . == 0))
