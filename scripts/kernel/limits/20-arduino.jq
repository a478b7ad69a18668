include "usb";
felt(500; 30), pace(900; 1000)
