include "usb";
rendered(500; 10), pace(900; 1000)
