include "limit";
limit("real-time scheduling was granted"; .granted.policy; .granted.policy == "fifo"),
limit("no overrun"; .overruns; .overruns == 0),
limit("wake-up latency below 50 µs, ns"; .wake_ns; .wake_ns.max < 50000),
limit("no page fault in the loop"; .page_faults; .page_faults.minor == 0 and .page_faults.major == 0)
