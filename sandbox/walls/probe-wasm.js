/**
 * The program that tries what the interpreter of the engine `wasm` keeps from programs, as probe.js does for a container. `data`: paths of
 * the host that must not be visible. There is nothing but modules and globals through which a program could reach further.
 */
const has = (path) =>
  import(path).then(
    () => true,
    () => false,
  );
const globals = (names) => names.filter((name) => name in globalThis);
const modules = async (names) => {
  const found = [];
  for (const name of names) if (await has(`node:${name}`)) found.push(name);
  return found;
};
const seen = [];
for (const path of data.hostPaths) if (await has(path)) seen.push(path);
const nets = ["net", "dgram", "dns", "http", "https", "http2", "tls"];
const network = [...(await modules(nets)), ...globals(["fetch", "WebSocket", "EventSource"])];
const files = await modules(["fs", "fs/promises", "wasi", "sqlite"]);
const processes = await modules(["child_process", "worker_threads", "cluster", "vm", "inspector", "module"]);
const engine = [...globals(["WebAssembly", "Deno", "std", "os"]), ...Object.keys(process.env)];

globalThis.result = {
  network: { interfaces: [], reached: Object.fromEntries(network.map((name) => [name, "ok"])) },
  writable: files.map((name) => [name, "ok"]),
  rootIsReadOnly: files.length === 0,
  ids: [],
  capabilities: {},
  mounts: files,
  devices: files,
  seen,
  engineSockets: engine,
  socketFolder: [],
  nameServers: "",
  files: files.length === 0 ? 0 : Number.MAX_SAFE_INTEGER,
  core: ["0", "0"],
  disk: Object.fromEntries(files.map((name) => [name, 1e6])),
  processors: 1,
  processes: { started: processes.length, refused: processes.length === 0 },
};
