include "limit";
if has("ran") then limit("cells"; .ran; .ran == 2)
else limit("\(.backend), \(.fault): within its limits";
  if has("over") then [.over[], "off after \(.off_after_ms) ms", "\(.leaving_mj) mJ"] else .error end; .over == []) end
