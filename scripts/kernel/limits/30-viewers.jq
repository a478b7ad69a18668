include "limit";
. as $runs |
($runs.none | limit("no viewer: every tick ran, none late"; [.ticks, .overruns]; .ticks == 6000 and .overruns == 0)),
({four: ["four streams at 60 Hz", 1.1], stalled: ["four clients that never read", 1.1],
  hostile: ["a hostile client", 1.3]} | to_entries[] | .value as [$who, $max] | $runs[.key] |
  limit("\($who): every tick ran, none late"; [.ticks, .overruns]; .ticks == 6000 and .overruns == 0),
  limit("\($who): wake-up p99 within \($max) times that without a viewer, ns"; [.wake_ns.p99, $runs.none.wake_ns.p99];
    .wake_ns.p99 <= $max * $runs.none.wake_ns.p99),
  limit("\($who): wake-up latency below 50 µs, ns"; .wake_ns.max; .wake_ns.max < 50000),
  limit("\($who): the same state, bit for bit"; .state_hash; .state_hash == $runs.none.state_hash)),
($runs["four-client"].tick_to_client |
  limit("the four received every frame"; .; .count > 4 * 6 * 50),
  limit("a state arrives soon after its tick, ms"; .; .p99 < 50)),
($runs["hostile-client"] |
  limit("the hostile client was answered"; .rounds; .rounds >= 1),
  limit("and none of its requests accepted"; .; .accepted == []))
