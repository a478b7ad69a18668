# One limit: its claim, the figure, and whether the claim holds.
def limit(claim; seen; holds): {claim: claim, seen: (seen | tostring), holds: holds};
