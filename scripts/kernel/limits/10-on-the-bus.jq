include "usb";
felt(500; 10), pace(900; 1000)
