def limit(claim; seen; holds): {claim: claim, seen: (seen | tostring), holds: holds};
limit("every tick ran"; .ticks; .ticks == 60000),
limit("no overrun"; .overruns; .overruns == 0),
limit("no period skipped"; .skipped; .skipped == 0),
limit("wakes at most 50 µs late, ns"; .wake_ns; .wake_ns.max < 50000),
limit("a tick takes at most 500 µs, ns"; .compute_ns; .compute_ns.max < 500000),
limit("no fault"; .faults; .faults == []),
limit("no page fault in the loop"; .page_faults; (.page_faults // {minor: 0, major: 0}) | .minor == 0 and .major == 0),
limit("the tool met the ring"; .contacts_max; .contacts_max > 0)
