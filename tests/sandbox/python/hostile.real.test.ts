import { expect, test } from "vitest";
import type { Envelope } from "../../../protocol/envelope.ts";
import { describeSandboxed } from "../in-sandbox.ts";
import { useRealSandboxes } from "../real-sandboxes.ts";

const failure = (type: string, message = "") => ({
  ok: false,
  error: { type, message: expect.stringContaining(message) },
});
const value = (data: unknown) => ({ ok: true, data });

/** What programs do to the runner that they share a process with, and what becomes of them. */
const TRICKS: Record<string, { code: string; want: unknown; timeoutMs?: number }> = {
  "a claim on fd 1": {
    code: `import os\nos.write(1, b'{"ok":true,"data":1,"from":"result"}\\n')\nresult = 2`,
    want: value(2),
  },
  "a claim on every descriptor": {
    code: [
      "import os",
      "for fd in range(3, 64):",
      "    try:",
      `        os.write(fd, b'{"ok":true,"data":1,"from":"result"}\\n')`,
      "    except OSError:",
      "        pass",
      "result = 2",
    ].join("\n"),
    want: failure("ContractViolation"),
  },
  "an exit at once": {
    code: "import os\nos._exit(0)",
    want: failure(
      "ContractViolation",
      "exit code 0) before its result could be reported; let it run to its end and set result",
    ),
  },
  "a crash of the interpreter": {
    code: "import ctypes\nctypes.string_at(0)",
    want: failure("ContractViolation", "ended its own process"),
  },
  "a claim of a child": {
    code: [
      "import os",
      "if os.fork() == 0:",
      `    os.write(1, b'{"ok":true,"data":"child","from":"result"}\\n')`,
      "    os._exit(0)",
      "os.wait()",
      "result = 1",
    ].join("\n"),
    want: value(1),
  },
  "a child that comes to its end as its parent does": {
    code: "import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\nresult = 'parent' if pid else 'child'",
    want: value("parent"),
  },
  "threads that never end": {
    code: "import threading\ndef spin():\n    while True:\n        pass\nfor _ in range(3):\n    threading.Thread(target=spin, daemon=True).start()\nresult = 1",
    want: value(1),
  },
  "poisoned modules": {
    code: [
      "import json, os, builtins, traceback, sys, io, signal",
      "def poison(*args, **keywords):",
      "    raise RuntimeError('poisoned')",
      "json.dumps = json.loads = os.write = os._exit = traceback.TracebackException = poison",
      "sys.settrace = sys.setprofile = signal.pthread_sigmask = poison",
      "for name in ['len', 'isinstance', 'type', 'str', 'print']:",
      "    setattr(builtins, name, poison)",
      "result = {'whole': True}",
    ].join("\n"),
    want: value({ whole: true }),
  },
  "the frames of the runner": {
    code: [
      "import gc, sys",
      "frame = sys._getframe()",
      "while frame.f_back:",
      "    frame = frame.f_back",
      "    frame.f_locals.clear()",
      "for each in gc.get_objects():",
      "    if type(each).__name__ in ('Channel', 'Console', 'EventOrder'):",
      "        each.__dict__.clear()",
      "result = 1",
    ].join("\n"),
    want: value(1),
  },
  "a tracer, an audit hook and an import hook that refuse everything": {
    code: [
      "import sys, threading",
      "class Refuse:",
      "    def find_spec(self, *args):",
      "        raise ImportError('refused')",
      "sys.meta_path.insert(0, Refuse())",
      "def trace(*args):",
      "    raise ValueError('traced')",
      "threading.settrace(trace)",
      "sys.setprofile(lambda *args: None)",
      "result = 1",
    ].join("\n"),
    want: value(1),
  },
  "an end that is put off with atexit": {
    code: "import atexit, time\natexit.register(lambda: time.sleep(3600))\nresult = 1",
    want: failure("Timeout"),
    timeoutMs: 1_500,
  },
  "a loop in compiled code": { code: "10 ** 10 ** 9", want: failure("Timeout"), timeoutMs: 1_500 },
  "signals that are ignored": {
    code: "import signal, os\nfor each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n    signal.signal(each, signal.SIG_IGN)\nos.kill(os.getpid(), signal.SIGTERM)\nwhile True:\n    pass",
    want: failure("Timeout"),
    timeoutMs: 1_500,
  },
  "a list that grows": {
    code: "held = []\nwhile True:\n    held.append(bytearray(8_000_000))",
    want: failure("ScriptError", "MemoryError"),
  },
  "memory past the limit of the language": {
    code: "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nheld = []\nwhile True:\n    held.append(b'x' * 8_000_000)",
    want: failure("OutOfMemory"),
  },
  "a huge text": { code: "result = 'x' * 200_000", want: failure("OutputLimit", "bytes of JSON") },
  "a number too long to be written": {
    code: "import sys\nsys.set_int_max_str_digits(0)\nresult = 10 ** 5_000_000",
    want: { ok: false },
  },
  "a value within itself": {
    code: "result = []\nresult.append(result)",
    want: failure("ResultNotSerializable", "refers back"),
  },
  "deep recursion": {
    code: "def deeper(n):\n    return deeper(n + 1)\ndeeper(0)",
    want: failure("ScriptError", "RecursionError"),
  },
  "recursion without a limit": {
    code: "import sys\nsys.setrecursionlimit(10 ** 9)\nclass Deep:\n    def __repr__(self):\n        return repr(self)\nrepr(Deep())",
    want: failure("ContractViolation"),
  },
  "a nesting that the parser cannot take": {
    code: `result = ${"(".repeat(5_000)}${")".repeat(5_000)}`,
    want: failure("ScriptError"),
  },
  "a frame that is no frame": {
    code: [
      "import os, time",
      "for fd in range(3, 64):",
      "    try:",
      "        os.write(fd, bytes([0, 0, 0, 5]) + b'hello')",
      "    except OSError:",
      "        pass",
      "time.sleep(5)",
    ].join("\n"),
    want: failure("ContractViolation"),
  },
};

describeSandboxed("hostile programs in Python", () => {
  const run = useRealSandboxes({ echo: (args) => args });

  test.each(Object.entries(TRICKS))("%s", async (_name, { code, want, timeoutMs = 30_000 }) => {
    const { result } = await run(code, { language: "python", limits: { timeoutMs } });
    expect(result).toMatchObject(want as Envelope["result"]);
    expect(JSON.stringify(result)).not.toContain("ptc_runner");
  });
});
