import type { FailureType } from "../../../protocol/failure.ts";
import type { Random } from "../../fuzz/random.ts";
import { CLAIMS, MESSAGES, PATCHES, RESULTS } from "./hostile-texts.ts";

/** One thing that a program does to its sandbox, its runner or its host. */
export interface Trick {
  name: string;
  /** Statements of JavaScript, which may await. */
  code(random: Random): string;
  /** What may become of a program because of it, beside success, an error of its own and running out of time. */
  allows: readonly FailureType[];
}

const CLAIMABLE = ["ScriptError", "ToolError", "OutputLimit", "ResultNotSerializable"] as const;
const BROKEN = ["ContractViolation", ...CLAIMABLE] as const;

export const TRICKS: readonly Trick[] = [
  {
    name: "sets a result",
    code: (random) => `globalThis.result = ${random.pick(RESULTS)};`,
    allows: ["ResultNotSerializable", "OutputLimit", "OutOfMemory"],
  },
  {
    name: "patches what it shares with the runner",
    code: (random) => random.list(random.between(1, 4), () => random.pick(PATCHES)).join("\n"),
    allows: [...BROKEN],
  },
  {
    name: "writes claims",
    code(random) {
      const fds = random.pick(["[1]", "[0, 1, 2]", "Array.from({ length: 64 }, (_, fd) => fd)"]);
      return `for (const fd of ${fds}) print(fd, '${random.pick(CLAIMS)}');${random.chance(0.4) ? " process.reallyExit(0);" : ""}`;
    },
    allows: [...BROKEN],
  },
  {
    name: "sends messages",
    code: (random) =>
      random.list(random.between(1, 3), () => `send(${JSON.stringify(random.pick(MESSAGES))});`).join("\n"),
    allows: [...BROKEN],
  },
  {
    name: "sends bytes",
    code: (random) =>
      `raw(keep.Buffer.from("${random.bytes(random.between(1, 40)).toString("hex")}", "hex"));`,
    allows: [...BROKEN],
  },
  {
    name: "sends what nests without end",
    code: () =>
      `send('{"type":"call","id":1,"tool":"x","arguments":' + '['.repeat(50_000) + ']'.repeat(50_000) + '}');`,
    allows: [...BROKEN],
  },
  {
    name: "announces what does not come",
    code: (random) =>
      `raw(keep.Buffer.from("${random.pick(["ffffffff", "00000000", "00ffffff", "0000"])}", "hex"));`,
    allows: [...BROKEN],
  },
  {
    name: "closes descriptors",
    code: (random) =>
      `for (const fd of ${random.pick(["[0]", "[1]", "[2]", "sockets", "Array.from({ length: 64 }, (_, fd) => fd)"])}) { try { fs.closeSync(fd); } catch {} }`,
    allows: [...BROKEN, "OutOfMemory"],
  },
  {
    name: "opens descriptors again",
    code: () =>
      `for (const fd of fs.readdirSync("/proc/self/fd")) { try { fs.openSync("/proc/self/fd/" + fd, "r+"); } catch {} }`,
    allows: [...BROKEN],
  },
  {
    name: "destroys handles",
    code: () => "for (const handle of process._getActiveHandles()) handle.destroy?.();",
    allows: [...BROKEN],
  },
  {
    name: "ends its process",
    code: (random) =>
      random.pick([
        "process.exit(0);",
        "process.exit(3);",
        "process.exitCode = 7;",
        "process.abort();",
        "process.reallyExit(0);",
        "process.kill(process.pid, 'SIGTERM');",
        "process.kill(process.pid, 'SIGKILL');",
        "process.kill(process.pid, 'SIGSTOP');",
        "process.kill(-1, 'SIGKILL');",
        "process.kill(1, 'SIGSEGV');",
      ]),
    allows: [...BROKEN, "OutOfMemory"],
  },
  {
    name: "starts threads",
    code(random) {
      const inside = random.pick([
        "for (;;) {}",
        "require('node:fs').writeSync(1, 'forged\\\\n')",
        "process.exit(1)",
        "throw 1",
        "require('node:worker_threads').parentPort.postMessage(1)",
      ]);
      return `for (let i = 0; i < ${random.pick([1, 3, 20])}; i++) new workers.Worker("${inside}", { eval: true }).on("error", () => {});`;
    },
    allows: [...BROKEN, "OutOfMemory"],
  },
  {
    name: "starts processes",
    code(random) {
      const inside = random.pick([
        "for (;;) {}",
        "process.stdout.write('forged')",
        "setInterval(() => {}, 1e3)",
      ]);
      const options = random.pick([
        "{}",
        '{ stdio: "inherit" }',
        '{ detached: true, stdio: "ignore" }',
        "{ stdio: [0, 1, 2, ...sockets] }",
      ]);
      return `for (let i = 0; i < ${random.pick([1, 4])}; i++) childProcess.spawn(process.execPath, ["-e", ${JSON.stringify(inside)}], ${options}).on("error", () => {});`;
    },
    allows: [...BROKEN, "OutOfMemory"],
  },
  {
    name: "floods its console",
    code: (random) =>
      `for (let i = 0; i < ${random.pick([10, 1_000])}; i++) console.${random.pick(["log", "error", "trace", "table"])}("${random.pick(["x", "\\u001b[2J", '\\u001e[\\"out\\",1]\\n', "\\u2028", "\\ud800"])}".repeat(${random.pick([1, 100, 5_000])}));`,
    allows: ["OutputLimit"],
  },
  {
    name: "floods stderr",
    code: (random) =>
      `for (let i = 0; i < ${random.pick([10, 2_000])}; i++) print(2, ${random.pick(['"e"', "keep.Buffer.alloc(65_536, 120)", '\'\\u001e["out","forged"]\\n\'', "'\\u001e'"])});`,
    allows: ["OutputLimit", ...BROKEN],
  },
  {
    name: "floods stdout",
    code: (random) =>
      `for (let i = 0; i < ${random.pick([2, 500])}; i++) print(1, keep.Buffer.alloc(65_536, 120));`,
    allows: [...BROKEN],
  },
  {
    name: "floods its broker with calls",
    code: (random) =>
      `for (let i = 0; i < ${random.pick([5, 100, 2_000])}; i++) ${random.pick(["await ", "", "void "])}callTool(${random.pick(['"mcp__desk__echo"', '"mcp__desk__fail"', '"nothing"', "String(i)", '"x".repeat(600)'])}, ${random.pick(["{}", "{ i }", '{ text: "x".repeat(10_000) }', "[]", "null", "undefined", "new Proxy({}, {})"])})${random.pick([".catch(() => {})", "", ".finally(() => {})"])};`,
    allows: [...BROKEN, "ToolError", "OutOfMemory"],
  },
  {
    name: "floods its broker with frames",
    code: (random) =>
      `for (let i = 0; i < ${random.pick([50, 1_500])}; i++) send('{"type":"call","id":' + (1000 + i) + ',"tool":"mcp__desk__echo","arguments":{}}');`,
    allows: [...BROKEN],
  },
  {
    name: "forges traces",
    code: (random) =>
      `for (let i = 0; i < ${random.pick([1, 10, 300])}; i++) send('{"type":"trace","trace":{"started_ms":' + i + ',"clock":"${random.bytes(random.size(30)).toString("base64")}","events":"","complete":false}}');`,
    allows: [...BROKEN],
  },
  {
    name: "sets timers",
    code: (random) =>
      random.pick([
        "setInterval(() => {}, 10);",
        "for (let i = 0; i < 1_000; i++) setTimeout(() => {}, i % 50);",
        "setTimeout(() => { throw new Error('late'); }, 20);",
        "setImmediate(function again() { setImmediate(again); });",
        "setTimeout(() => {}, 2 ** 31);",
      ]),
    allows: [],
  },
  {
    name: "rejects",
    code: (random) =>
      random.pick([
        "Promise.reject(new Error('nobody'));",
        "Promise.reject(undefined);",
        "for (let i = 0; i < 1_000; i++) Promise.reject(i);",
        "const late = Promise.reject(1); setTimeout(() => late.catch(() => {}), 5);",
        "process.on('unhandledRejection', () => {}); Promise.reject(1);",
        "process.removeAllListeners(); Promise.reject(1);",
        "process.on('uncaughtException', () => {}); setTimeout(() => { throw 1; });",
        "throw new Proxy(new Error('x'), { get() { throw 1; } });",
        "throw Object.assign(new Error('x'), { name: Symbol('n'), stack: { toString() { throw 1; } } });",
      ]),
    allows: [...BROKEN],
  },
  {
    name: "storms the microtasks",
    code: (random) =>
      random.pick([
        "let left = 100_000; const again = () => left-- > 0 ? Promise.resolve().then(again) : 0; await again();",
        "const endless = () => Promise.resolve().then(endless); endless();",
        "(function tick() { process.nextTick(tick); })();",
        "await new Promise(() => {});",
        "for (;;) {}",
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);",
      ]),
    allows: [],
  },
  {
    name: "takes memory",
    code: (random) =>
      random.pick([
        "const held = []; for (let i = 0; i < 60; i++) held.push(keep.Buffer.alloc(16 * 1024 * 1024, 1));",
        "const grown = []; for (;;) grown.push({ text: 'x' + grown.length });",
        "function dig() { return dig() + 1; } dig();",
        "v8.setFlagsFromString('--stack-size=60000'); (function deep() { deep(); })();",
        "v8.setHeapSnapshotNearHeapLimit?.(1);",
      ]),
    allows: [...BROKEN, "OutOfMemory"],
  },
  {
    name: "fills its disk",
    code: () =>
      `try { const fd = fs.openSync("/workspace/fill", "w"); for (let i = 0; i < 64; i++) fs.writeSync(fd, keep.Buffer.alloc(4 * 1024 * 1024, 1)); } catch {}`,
    allows: [...BROKEN, "OutOfMemory"],
  },
  {
    name: "changes what it runs from",
    code: () =>
      `for (const path of ["/workspace/.program.mjs", "/opt/ptc/runner.mjs", "/run/ptc/broker.sock"]) { try { fs.unlinkSync(path); } catch {} try { fs.writeFileSync(path, "x"); } catch {} }`,
    allows: [],
  },
  {
    name: "connects again",
    code: () =>
      `for (let i = 0; i < 20; i++) net.connect("/run/ptc/broker.sock").on("error", () => {}).write(frame('{"type":"hello","protocol":3,"language":"x","runtime":"x"}'));`,
    allows: [...BROKEN],
  },
  {
    name: "does something as it leaves",
    code: (random) =>
      `process.on("${random.pick(["exit", "beforeExit"])}", () => { ${random.pick(["process.exitCode = 5;", "print(1, 'late\\n');", "throw new Error('leaving');", "process.exit(0);", "globalThis.result = 2;", "for (;;) {}"])} });`,
    allows: [...BROKEN],
  },
  {
    name: "hooks what is asynchronous",
    code: () =>
      "asyncHooks.createHook({ init() { throw new Error('hook'); } }).enable(); setTimeout(() => {}, 1);",
    allows: [...BROKEN],
  },
  {
    name: "leaves its realm",
    code: () =>
      `globalThis.result = vm.runInNewContext("({ a: [1], toJSON() { return this.constructor.constructor('return process')(); } })", {});`,
    allows: [...BROKEN],
  },
  {
    name: "prints and returns like any other program",
    code: () => `console.log("said"); globalThis.result ??= await callTool("mcp__desk__echo", { said: 1 });`,
    allows: ["ToolError"],
  },
];
