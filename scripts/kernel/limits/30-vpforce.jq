include "usb";
felt(500; 30), pace(600; 1000)
