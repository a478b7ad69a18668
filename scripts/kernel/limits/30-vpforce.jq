include "usb";
felt(500; .seconds), pace(600; 1000)
