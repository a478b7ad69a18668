include "limit";
def median: sort | .[length / 2 | floor];
def compared(name; figure):
  ([.pairs[].without | figure] | median) as $without | ([.pairs[].with | figure] | median) as $with |
  limit("recording costs at most a tenth of the \(name), ns"; {$without, $with}; $with <= 1.1 * $without);
limit("every tick ran"; [.pairs[][] | .ticks]; all(.pairs[][]; .ticks == 3000)),
limit("no overrun"; [.pairs[][] | .overruns]; all(.pairs[][]; .overruns == 0)),
limit("no page fault in the loop"; [.pairs[][] | .page_faults];
  all(.pairs[][]; .page_faults.minor == 0 and .page_faults.major == 0)),
compared("wake-up p50"; .wake_ns.p50),
compared("wake-up p99"; .wake_ns.p99),
compared("tick p50"; .compute_ns.p50),
compared("tick p99"; .compute_ns.p99),
limit("the same state with and without"; [.pairs[][] | .state_hash]; [.pairs[][] | .state_hash] | unique | length == 1),
limit("replayed bit for bit"; .proof;
  .proof.ticks == 3000 and .proof.first_difference == null and .proof.unproved == null)
