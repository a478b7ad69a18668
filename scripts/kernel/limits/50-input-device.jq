include "usb";
felt(250; 10), pace(450; 520)
