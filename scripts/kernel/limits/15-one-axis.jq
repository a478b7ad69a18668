include "limit";
include "usb";
driven(1000; 9), nominal, pace(900; 1000), admitted,
limit("the post pushes, N"; .device.lives[0].force_max_n; .device.lives[0].force_max_n > 0.5),
limit("the force pushes away along the axis only, N";
  [.device.quadrants[0].mean_force_n, .device.quadrants[3].mean_force_n];
  all(.device.quadrants[0, 3]; .samples > 500 and .mean_force_n[0] > 0.2 and (.mean_force_n[1] | fabs) < 1e-6))
