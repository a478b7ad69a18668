def limit(claim; seen; holds): {claim: claim, seen: (seen | tostring), holds: holds};
limit("no overrun"; .overruns; .overruns == 0),
limit("wakes at most 50 µs late, ns"; .wake_ns; .wake_ns.max < 50000)
