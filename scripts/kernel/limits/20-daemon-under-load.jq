include "limit";
limit("every tick ran"; .ticks; .ticks == 60000),
limit("no overrun"; .overruns; .overruns == 0),
limit("no period skipped"; .skipped; .skipped == 0),
limit("wake-up latency below 50 µs, ns"; .wake_ns; .wake_ns.max < 50000),
limit("a tick takes less than 500 µs, ns"; .compute_ns; .compute_ns.max < 500000),
limit("no fault"; .faults; .faults == []),
limit("the tool touched the ring"; .contacts_max; .contacts_max > 0),
limit("the same state as on the host, bit for bit"; .state_hash; .state_hash == $host[0].state_hash),
(.page_faults | select(. != null) | limit("no page fault in the loop"; .; .minor == 0 and .major == 0))
