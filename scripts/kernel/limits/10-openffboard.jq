include "usb";
felt(500; .seconds), pace(900; 1000)
