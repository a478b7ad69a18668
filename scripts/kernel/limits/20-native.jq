include "usb";
rendered(1000; .seconds), pace(990; 1010)
