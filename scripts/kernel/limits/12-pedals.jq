include "usb";
rendered(500; 10)
