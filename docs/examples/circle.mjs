// Lead the simulated hand of a running hapticd round a circle and print what it feels.
//
//     node --experimental-websocket circle.mjs [http://127.0.0.1:8520] [seconds]     (from Node 22 on without the flag)
const base = process.argv[2] ?? "http://127.0.0.1:8520";
const seconds = Number(process.argv[3] ?? 5);

const scene = await (await fetch(`${base}/api/scene`)).json();
const [[left, low], [right, high]] = scene.bounds_m;
const middle = [(left + right) / 2, high + 0.01];
console.log(`scene: ${scene.name}, ${scene.bodies.length} bodies`);

const stream = new WebSocket(`${base.replace("http", "ws")}/api/stream?hz=30`);
const start = Date.now();
let frames = 0;
stream.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.type === "error") throw new Error(message.error);
  if (message.type !== "state") return;
  const angle = (Date.now() - start) / 500;
  const position_m = [middle[0] + 0.02 * Math.cos(angle), middle[1] + 0.02 * Math.sin(angle)];
  stream.send(JSON.stringify({ type: "hand", position_m }));
  if (frames++ % 15 === 0) {
    const [x, y] = message.hand_m.map((value) => value.toFixed(3));
    console.log(`${message.t_s.toFixed(3)} s  hand ${x} ${y} m  force ${Math.hypot(...message.force_n).toFixed(2)} N`);
  }
  if (Date.now() - start > seconds * 1000) stream.close();
};
stream.onerror = () => { console.error(`no stream at ${base}`); process.exit(1); };
