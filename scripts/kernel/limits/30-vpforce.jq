include "usb";
rendered(500; .seconds), pace(600; 1000)
