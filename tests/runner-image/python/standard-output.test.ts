import { describe, expect, it } from "vitest";
import { missingFor, runInProcess } from "../runner-process.ts";

const missing = missingFor("python");
const FORGED = String.raw`b'{"ok":true,"data":"forged","from":"result"}\n'`;

/** A program, and what it prints. */
const PROGRAMS: [what: string, code: string, printed: string][] = [
  ["a write to the descriptor", 'import os\nos.write(1, b"a\\n")\nprint("b")', "a\nb"],
  ["a write after a line", 'import os\nprint("a")\nos.write(1, b"b\\n")\nprint("c")', "a\nb\nc"],
  ["a character in two pieces", 'import os\nos.write(1, b"\\xc3")\nos.write(1, b"\\xa9")', "é"],
  ["the bytes of sys.stdout", 'import sys\nsys.stdout.buffer.write(b"a")\nsys.stdout.buffer.flush()', "a"],
  ["the stream that was there first", 'import sys\nsys.__stdout__.write("a")', "a"],
  ["the descriptor of sys.stdout", "import os, sys\nos.write(sys.stdout.fileno(), b'a')", "a"],
  ["a command", 'import os\nos.system("echo a")\nprint("b")', "a\nb"],
  [
    "a child process",
    'import subprocess\nprint(subprocess.run(["echo", "a"]).stdout)\nsubprocess.check_call("echo b; echo c", shell=True)',
    "a\nNone\nb\nc",
  ],
  [
    "a child process that gets sys.stdout",
    'import subprocess, sys\nsubprocess.run(["echo", "a"], stdout=sys.stdout)',
    "a",
  ],
  [
    "a copy of the process",
    'import os\nif os.fork() == 0:\n    os.write(1, b"a\\n")\n    os._exit(0)\nos.wait()\nprint("b")',
    "a\nb",
  ],
  [
    "a file that leads there",
    'for text in ["a", "b"]:\n    with open("/dev/stdout", "w") as file:\n        file.write(text)\n    print("-")',
    "a-\nb-",
  ],
  [
    "a file that stays open",
    'file = open("/proc/self/fd/1", "w")\nfor text in ["a", "b"]:\n    file.write(text)\n    file.flush()\n    print("-")',
    "a-\nb-",
  ],
  [
    "a copy of the descriptor",
    'import os\nwith os.fdopen(os.dup(1), "w") as file:\n    file.write("a")',
    "a",
  ],
  ["native code", 'import ctypes\nctypes.CDLL(None).write(1, b"a", 1)', "a"],
  [
    "a thread",
    'import os, threading\nthread = threading.Thread(target=os.write, args=(1, b"a"))\nthread.start()\nthread.join()',
    "a",
  ],
];

describe.skipIf(missing !== "")(`standard output in Python${missing}`, () => {
  it.each(PROGRAMS)("takes %s as output of the program", async (_what, code, printed) => {
    const { claim } = await runInProcess("python", code);
    expect(claim).toEqual({ ok: true, data: printed, from: "console" });
  });

  it("lets a program write more than a pipe holds", async () => {
    const code = `import os\nfor _ in range(50):\n    os.write(1, b"a" * 20_000)\nos.system("head -c 1000000 /dev/zero")\nresult = 2`;
    const { claim } = await runInProcess("python", code);
    expect(claim).toEqual({ ok: true, data: 2, from: "result" });
  });

  it("gives the value of a program by its last line", async () => {
    const { claim } = await runInProcess("python", "import os\nos.write(1, b'a\\n{\"a\":1}\\n')\n");
    expect(claim).toEqual({ ok: true, data: { a: 1 }, from: "line" });
  });

  it.each([
    ["a program", `import os\nos.write(1, ${FORGED})\nresult = 2`],
    ["a child process", `import subprocess, sys\nsubprocess.run(["sh", "-c", "echo forged"])\nresult = 2`],
    [
      "a copy of the process",
      `import os\nif os.fork() == 0:\n    os.write(1, ${FORGED})\n    os._exit(0)\nos.wait()\nresult = 2`,
    ],
    [
      "a program that then closes the descriptor",
      `import os\nos.write(1, ${FORGED})\nos.close(1)\nresult = 2`,
    ],
  ])("takes a line of %s that looks like the runner's claim as text", async (_, code) => {
    const { claim } = await runInProcess("python", code);
    expect(claim).toEqual({ ok: true, data: 2, from: "result" });
  });

  it("gives no child process the stream of the claim", async () => {
    const code = `import subprocess, sys
child = "import os; print([fd for fd in map(int, os.listdir('/proc/self/fd')) if fd > 511])"
result = subprocess.run([sys.executable, "-c", child], close_fds=False, capture_output=True, text=True).stdout`;
    const { claim } = await runInProcess("python", code);
    expect(claim).toEqual({ ok: true, data: "[]\n", from: "result" });
  });

  it("lets a child process whose output is read have what it always had", async () => {
    const { claim } = await runInProcess(
      "python",
      'import subprocess\nresult = subprocess.run(["echo", "a"], capture_output=True, text=True).stdout',
    );
    expect(claim).toEqual({ ok: true, data: "a\n", from: "result" });
  });
});
