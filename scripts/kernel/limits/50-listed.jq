include "limit";
include "usb";
def of(backend): .listed.devices[] | select(.backend == backend);
limit("both devices are listed"; [.listed.devices[].backend];
  ([.listed.devices[].backend] | sort) == ["hid-native", "hid-pid"]),
limit("with names"; [.listed.devices[].name];
  ([.listed.devices[].name] | sort) == ["emulated arduino", "emulated native"]),
limit("with axes and capabilities"; of("hid-pid") | [.axes, .capabilities];
  of("hid-pid") | .axes == 2 and (.capabilities | contains("constant force ±10000"))),
limit("a full effect pool is rejected with the remedy"; [.code, .refusal];
  .code == 1 and (.refusal | contains("axes = 1")))
