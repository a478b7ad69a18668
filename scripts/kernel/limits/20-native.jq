include "usb";
felt(1000; 30), pace(990; 1010)
