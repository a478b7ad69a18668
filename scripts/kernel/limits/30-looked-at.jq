def limit(claim; seen; holds): {claim: claim, seen: (seen | tostring), holds: holds};
. as $runs |
($runs.nobody | limit("nobody looks on: every tick ran, none late"; [.ticks, .overruns]; .ticks == 6000 and .overruns == 0)),
({four: ["four streams at 60 Hz", 1.1], stalled: ["four clients that never read", 1.1], pestered: ["pestered", 1.3]} | to_entries[] |
  .value as [$who, $most] | $runs[.key] |
  limit("\($who): every tick ran, none late"; [.ticks, .overruns]; .ticks == 6000 and .overruns == 0),
  limit("\($who): wakes as punctually, p99 within \($most) times, ns"; [.wake_ns.p99, $runs.nobody.wake_ns.p99];
    .wake_ns.p99 <= $most * $runs.nobody.wake_ns.p99),
  limit("\($who): never wakes 50 µs late, ns"; .wake_ns.max; .wake_ns.max < 50000),
  limit("\($who): no bit of the world changed"; .state_hash; .state_hash == $runs.nobody.state_hash)),
limit("the four saw every frame"; $runs["four-client"].tick_to_client; $runs["four-client"].tick_to_client.count > 4 * 6 * 50),
limit("a client has a state soon after its tick, ms"; $runs["four-client"].tick_to_client; $runs["four-client"].tick_to_client.p99 < 50),
limit("whoever pesters was heard again and again"; $runs["pestered-client"].rounds; $runs["pestered-client"].rounds >= 1),
limit("and never let in"; $runs["pestered-client"]; $runs["pestered-client"].accepted == [])
