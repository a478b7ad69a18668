#!/usr/bin/env python3
"""Watch a running hapticd and soften its coupling: standard library only.

    python3 watch.py [http://127.0.0.1:8520] [seconds]
"""
import json
import sys
import time
import urllib.request

base = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8520"
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0


def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data=data, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


print("scene:", ask("GET", "/api/scene")["name"])
coupling = ask("PATCH", "/api/coupling", {"stiffness_n_per_m": 300.0})
print("stiffness now", coupling["stiffness_n_per_m"], "N/m")
end = time.monotonic() + seconds
while time.monotonic() < end:
    state = ask("GET", "/api/state")
    x, y = state["force_n"]
    print(f"{state['t_s']:8.3f} s  force {x:+.2f} {y:+.2f} N  {state['caption']}")
    time.sleep(0.1)
