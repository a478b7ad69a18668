include "usb";
rendered(250; 10), pace(450; 520)
