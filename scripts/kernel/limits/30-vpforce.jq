include "usb";
felt(500; 30)
