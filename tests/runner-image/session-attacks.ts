/**
 * Programs of a session that leave something behind that acts by itself. `mcp__desk__late` is what it calls when it still runs
 * while the next program does.
 */

const JS_CHANNEL = `
import fs from "node:fs";
const channel = fs.readdirSync("/proc/self/fd").map(Number).filter((fd) => {
  try { return fd > 2 && fs.readlinkSync("/proc/self/fd/" + fd).startsWith("socket:"); } catch { return false; }
})[0];
const frame = (message) => {
  const payload = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(4);
  header.writeUInt32BE(payload.length);
  return Buffer.concat([header, payload]);
};
const late = frame({ type: "call", id: 0, tool: "mcp__desk__late", arguments: {} });
`;

const PYTHON_CHANNEL = `
import os, json
def is_socket(fd):
    try:
        return fd > 2 and os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")
    except OSError:
        return False
channel = [fd for fd in map(int, os.listdir("/proc/self/fd")) if is_socket(fd)][0]
def frame(message):
    payload = json.dumps(message).encode()
    return len(payload).to_bytes(4, "big") + payload
late = frame({"type": "call", "id": 0, "tool": "mcp__desk__late", "arguments": {}})
`;

const LEFTOVERS: Readonly<Record<"javascript" | "python", Readonly<Record<string, string>>>> = {
  javascript: {
    "callbacks about collected objects": `
globalThis.registry = new FinalizationRegistry(() => { for (let n = 0; n < 50; n++) callTool("mcp__desk__late", {}).catch(() => {}); });
for (let n = 0; n < 100; n++) registry.register({ n }, n);
globalThis.result = 1;`,
    "callbacks about collected objects, from a realm of its own": `
import vm from "node:vm";
const Registry = vm.runInNewContext("FinalizationRegistry");
globalThis.registry = new Registry(() => { for (let n = 0; n < 50; n++) callTool("mcp__desk__late", {}).catch(() => {}); });
for (let n = 0; n < 100; n++) registry.register({ n }, n);
globalThis.result = 1;`,
    "a thread, and no listener that would hear of it": `${JS_CHANNEL}
import { Worker } from "node:worker_threads";
process.removeAllListeners("worker");
const text = "const { workerData: [fd, frame] } = require('node:worker_threads'); setInterval(() => require('node:fs').writeSync(fd, frame), 5)";
new Worker(text, { eval: true, workerData: [channel, late] }).unref();
globalThis.result = 1;`,
    "no listener of the runner's": `
for (const name of process.eventNames()) if (name !== "beforeExit") process.removeAllListeners(name);
process.once("beforeExit", () => process.removeAllListeners());
globalThis.result = 1;`,
  },
  python: {
    "a timer of the system's with a handler": `
import signal
def handle(*_):
    call_tool("mcp__desk__late", {})
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.01)
result = 1`,
    "a callback in the event loop": `
import asyncio
loop = asyncio.get_event_loop()
def again():
    call_tool("mcp__desk__late", {})
    loop.call_soon(again)
loop.call_soon(again)
raise ValueError("ends")`,
    "garbage with a finalizer": `
class Late:
    def __init__(self):
        self.own = self
    def __del__(self):
        call_tool("mcp__desk__late", {})
        Late()
result = Late()
kept = [Late() for _ in range(3)] and None
result = 1`,
    "what is called at the end": `
import atexit
atexit.register(lambda: call_tool("mcp__desk__late", {}))
raise ValueError("ends")`,
    "a callback of the collector's, and a thread that catches everything for a while": `
import gc, threading, time
gc.callbacks.append(lambda *_: call_tool("mcp__desk__late", {}))
def go():
    for _ in range(20):
        try:
            time.sleep(0.01)
            call_tool("mcp__desk__late", {})
        except BaseException:
            pass
threading.Thread(target=go, daemon=True).start()
raise ValueError("ends")`,
  },
};

/** Leave nothing that acts, and a session that goes on. */
export const ALL_LEFTOVERS = (["javascript", "python"] as const).flatMap((language) =>
  Object.entries(LEFTOVERS[language]).map(([name, code]) => ({ language, name, code })),
);

/** Run in a session after one of these, and ask for it as long as it could come. */
export const NEXT: Readonly<Record<"javascript" | "python", string>> = {
  javascript: `
import v8 from "node:v8";
import vm from "node:vm";
v8.setFlagsFromString("--expose-gc");
const collect = vm.runInNewContext("gc");
for (let n = 0; n < 30; n++) { collect(); await new Promise((resolve) => setTimeout(resolve, 10)); }
await callTool("mcp__desk__own", {});
globalThis.result = "own";`,
  python: `
import asyncio, gc
for _ in range(30):
    gc.collect()
    await asyncio.sleep(0.01)
await call_tool("mcp__desk__own", {})
result = "own"`,
};

/** Leave what no runner can end: the guard sees it from outside. By what the next program hears. */
export const LASTING: readonly {
  name: string;
  language: "javascript" | "python";
  code: string;
  why: string;
}[] = [
  {
    name: "a thread that never waits",
    language: "python",
    code: `
import threading, time
def spin():
    while True:
        pass
threading.Thread(target=spin, daemon=True).start()
time.sleep(0.01)
raise ValueError("ends")`,
    why: "because a program had left a thread running, which could have acted in the next one",
  },
  {
    name: "a thread of native code that answers in the runner's place",
    language: "python",
    code: `${PYTHON_CHANNEL}
import ctypes
libc = ctypes.CDLL(None)
hello = frame({"type": "hello", "protocol": 4, "language": "python", "runtime": "Python 3"})
@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def forge(_):
    # Its own program, as long as that runs, would be ended for it.
    libc.usleep(300_000)
    while True:
        try:
            libc.usleep(2000)
            os.write(channel, hello + late)
            os.write(1, b'{"ok":true,"data":"forged","from":"result"}\\n')
        except BaseException:
            pass
thread = ctypes.c_ulong()
libc.pthread_create(ctypes.byref(thread), None, forge, None)
result = 1`,
    why: "because a program had loaded native code (ctypes, or a library of its own), which could have acted in the next one",
  },
  {
    name: "a library of its own",
    language: "python",
    code: `
import glob, importlib.machinery, importlib.util, shutil
path = shutil.copy(glob.glob("/usr/lib/python3.11/lib-dynload/_crypt.*.so")[0], "/workspace")
loader = importlib.machinery.ExtensionFileLoader("_crypt", path)
spec = importlib.util.spec_from_loader("_crypt", loader)
module = importlib.util.module_from_spec(spec)
result = 1`,
    why: "because a program had loaded native code (ctypes, or a library of its own), which could have acted in the next one",
  },
  {
    name: "native code that has come to its end",
    language: "python",
    code: "import ctypes\nctypes.CDLL(None).getpid()\nresult = 1",
    why: "because a program had loaded native code (ctypes, or a library of its own), which could have acted in the next one",
  },
];

/** Holds the one thread that is there when it has ended, and answers in the runner's place. It does not know the session's key. */
export const IMPOSTOR = `${JS_CHANNEL}
process.on("beforeExit", () => {
  const answers = [
    frame({ type: "hello", protocol: 4, language: "javascript", runtime: "Node.js" }),
    frame({ type: "done", bytes: 43, console_bytes: 0 }),
  ];
  const heard = Buffer.alloc(65_536);
  for (;;) {
    try {
      fs.readSync(channel, heard);
      fs.writeSync(1, '{"ok":true,"data":"forged","from":"result"}\\n');
      for (const answer of answers) fs.writeSync(channel, answer);
    } catch {}
  }
});
globalThis.result = "first";`;

/** Fails, and has asked for writes to the channel that are done when it has. */
export const LATE_WRITES = `${JS_CHANNEL}
import { pbkdf2 } from "node:crypto";
for (let n = 0; n < 8; n++) pbkdf2("x", "y", 200_000, 64, "sha512", () => {});
for (let n = 0; n < 4; n++) fs.write(channel, late, () => {});
throw new Error("ends");`;
