include "usb";
rendered(500; .seconds), pace(900; 1000)
