import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProgramEnvironment, Trace } from "../../../protocol/messages.ts";
import { encodePythonBundle } from "../../../protocol/runners.ts";
import { findPyodide, PYODIDE_VERSION } from "../../../sandbox/wasm/pyodide.ts";
import { WASM_IMAGE, WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";
import { ENVIRONMENT, type Ran, runProgram } from "./run-program.ts";
import { openWasmEngine } from "./runner-files.ts";

const engine = await openWasmEngine();
afterAll(() => engine.close());

interface Given {
  environment?: ProgramEnvironment;
  memoryMb?: number;
  data?: unknown;
}

function run(source: string, given: Given = {}): Promise<Ran> {
  const mode = /\bawait\b/.test(source) ? "async" : "sync";
  const bundle = encodePythonBundle({ mode, source, file_name: "main.py", modules: {} });
  const files = [{ name: "given.txt", base64: "aGk=" }];
  return runProgram(engine, { runner: "python", bundle, files, ...given });
}

describe("a Python program in an interpreter", () => {
  test("has the values, the standard library, the calls and the time zone of one elsewhere", async () => {
    const source = `
import asyncio, datetime, decimal, hashlib, re, statistics
from dataclasses import dataclass

@dataclass
class Point:
    x: int

async def three():
    return await asyncio.gather(*[call_tool("mcp__x__y", {"n": n}) for n in range(3)])

print("printed")
await asyncio.sleep(0.01)
result = [
    await three(),
    await parallel([lambda: call_tool("mcp__x__y", {"n": 9}), lambda: 1]),
    str(datetime.datetime.fromtimestamp(0)), datetime.date(2024, 2, 29).isoformat(),
    str(decimal.Decimal("0.1") + 1), hashlib.sha256(b"x").hexdigest()[:8], statistics.mean([1, 2]), re.sub("a", "b", "a"),
    Point(1).x, data, len({*range(9)}), open("files/given.txt").read(),
]`;
    const { claim, stderr } = await run(source, { data: { given: "ä" } });
    expect(claim).toEqual({
      ok: true,
      from: "result",
      data: [
        [{ n: 0 }, { n: 1 }, { n: 2 }],
        [{ n: 9 }, 1],
        ...["1970-01-01 01:00:00", "2024-02-29", "1.1", "2d711642", 1.5, "b", 1, { given: "ä" }, 9, "hi"],
      ],
    });
    expect(stderr).toContain('["out", "printed\\n"]');
  });

  test.each([
    ["its last expression", "x = 20\nx + 1", 21],
    ["what it returns at the top level", "return [1]", [1]],
    ["what it prints", "import os\nprint('{\"a\": 1}')", { a: 1 }],
    [
      "what blocking calls give",
      "a = call_tool('mcp__x__y', {'n': 1})\nresult = parallel([lambda: a, lambda: 2])",
      [{ n: 1 }, 2],
    ],
    ["what asyncio.run gives", "import asyncio\nasync def f():\n    return 5\nresult = asyncio.run(f())", 5],
  ])("comes to %s", async (_what, source, value) => {
    expect((await run(source)).claim).toMatchObject({ ok: true, data: value });
  });

  test.each([
    [
      "an exception, with its line",
      "x = 1\nraise ValueError('far')",
      /^Traceback[\s\S]*File "main.py", line 2[\s\S]*ValueError: far$/,
    ],
    ["its exit", "import sys\nsys.exit(3)", /SystemExit: the program ended with 3/],
    ["a wait for what can never happen", "import asyncio\nawait asyncio.Future()", /can never happen/],
    [
      "a thread, which is not there",
      "import threading\nthreading.Thread(target=print).start()",
      /can't start new thread/,
    ],
    ["recursion without end", "def f():\n    return f() + 1\nf()", /RecursionError/],
    [
      "more memory than it has",
      "held = []\nwhile True:\n    held.append(bytearray(1_000_000))",
      /MemoryError[\s\S]*raise execution.memory_mb/,
    ],
  ])("fails by %s", async (_what, source, message) => {
    const { claim } = await run(source);
    expect(claim?.error?.message).toMatch(message);
  });

  test("sees the same clock, randomness and order of answers in a replay", async () => {
    const source = `
import asyncio, random, time, uuid
order = []
async def one(n):
    await call_tool("mcp__x__y", {"n": n})
    order.append(n)
await asyncio.gather(*[one(n) for n in range(3)])
await asyncio.sleep(0.02)
result = [order, time.time(), time.perf_counter(), random.random(), str(uuid.uuid4()), list({"a", "b", "c"})]`;
    const live = await run(source);
    const replay = live.trace as Trace;
    expect(live.claim).toMatchObject({ ok: true });
    const again = await run(source, { environment: { ...ENVIRONMENT, replay } });
    expect(again.claim).toEqual(live.claim);
    expect(again.trace).toEqual(replay);
    const other = await run(source, { environment: { ...ENVIRONMENT, seed: "00".repeat(32) } });
    const drawn = ({ claim }: Ran) => (claim?.data as unknown[] | undefined)?.[3];
    expect(drawn(other)).not.toBe(drawn(live));
  });

  test("draws other random bytes than the next one without a seed, though both come from one snapshot", async () => {
    const environment = { time_zone: "UTC" } as ProgramEnvironment;
    const draw = () =>
      run("import os, random\nresult = [os.urandom(8).hex(), random.random()]", { environment });
    const [one, other] = await Promise.all([draw(), draw()]);
    expect(one.claim).toMatchObject({ ok: true });
    expect(one.claim?.data).not.toEqual(other.claim?.data);
  });
});

/** What a program of 256 MB keeps outside of Python's own memory. Each writes 400 MB if nothing stops it. */
const KEPT: readonly [string, string][] = [
  ["files", "for n in range(8):\n    open(f'/tmp/{n}', 'wb').write(part)\n    written += len(part)"],
  [
    "one file that grows",
    "with open('/tmp/one', 'ab', buffering=0) as file:\n    for n in range(8):\n        written += file.write(part)",
  ],
  [
    "files without names",
    "for n in range(8):\n    file = open('/tmp/it', 'wb')\n    kept.append(file)\n    os.unlink('/tmp/it')\n    written += os.write(file.fileno(), part)",
  ],
  ["its standard output", "for n in range(8):\n    written += os.write(1, part)"],
  ["a pipe", "_, fd = os.pipe()\nfor n in range(8):\n    written += os.write(fd, part)"],
  ["pipes", "for n in range(8):\n    written += os.write(os.pipe()[1], part)"],
  [
    "a file with a hole",
    "fd = os.open('/tmp/one', os.O_RDWR | os.O_CREAT)\nos.lseek(fd, 4 * 10**8, 0)\nos.write(fd, b'x')\nwritten = 4 * 10**8",
  ],
  [
    "a file made longer",
    "for n in range(8):\n    with open(f'/tmp/{n}', 'wb') as file:\n        file.truncate(len(part))\n    written += len(part)",
  ],
];

describe("A Python program that keeps much outside of Python's memory", () => {
  const before = "import errno, os\npart = b'x' * 50_000_000\nwritten, kept = 0, []\n";
  const indented = (source: string) => source.replaceAll("\n", "\n    ");

  test.each(KEPT)("in %s, is told that there is no space left", async (_what, source) => {
    const tried = `${before}try:\n    ${indented(source)}\nexcept OSError as error:\n    result = [error.errno == errno.ENOSPC, written]`;
    const { claim, code } = await run(tried);
    const [isWithoutSpace, written] = (claim?.data ?? []) as unknown[];
    expect([isWithoutSpace, Number(written) < 192_000_000, code]).toEqual([true, true, 0]);
  });

  test("fails by that", async () => {
    const { claim } = await run(`${before}${KEPT[0]?.[1]}`);
    expect(claim?.error?.message).toMatch(/OSError: .*No space left on device/);
  });

  test("has one memory for both: what it keeps there, its values cannot have", async () => {
    const source = `${before}held = []
for n in range(2):
    open(f'/tmp/{n}', 'wb').write(part)
for n in range(100):
    held.append(bytearray(1_000_000))`;
    expect((await run(source)).claim?.error?.message).toMatch(/MemoryError/);
  });

  test("gets the space again of what it removes, closes, cuts, replaces or reads", async () => {
    const source = `
import os
part = b'x' * 20_000_000
for n in range(9):
    open('/tmp/removed', 'wb').write(part)
    os.unlink('/tmp/removed')
    open('/tmp/cut', 'wb').write(part)
    os.truncate('/tmp/cut', 0)
    open('/tmp/new', 'wb').write(part)
    os.replace('/tmp/new', '/tmp/replaced')
    with open('/tmp/closed', 'wb') as file:
        os.unlink('/tmp/closed')
        file.write(part)
    back, fd = os.pipe()
    os.write(fd, part)
    if n % 2:
        os.read(back, len(part))
    os.close(back)
    os.close(fd)
for n in range(3000):
    open('/tmp/small', 'wb').write(b'x')
    os.unlink('/tmp/small')
result = len(open('/tmp/replaced', 'rb').read())`;
    expect((await run(source)).claim).toMatchObject({ ok: true, data: 20_000_000 });
  });

  test("prints more than that without end, as far as its output goes", async () => {
    const source =
      "import os\nfor n in range(300):\n    os.write(1, b'y' * 1_000_000)\n    print(n)\nresult = n";
    expect((await run(source)).claim).toMatchObject({ ok: true, data: 299 });
  });
});

/** Finds the core of Pyodide, which gives objects of JavaScript. */
const CORE = `import gc
gc.unfreeze()
core = next(each for each in gc.get_objects() if type(each).__name__ == 'module' and each.__name__ == '_pyodide_core')
`;
/** Walks from objects of JavaScript to all that they lead to, a few steps far. */
const WALK = `${CORE}
made = [core.to_js(b'x'), core.to_js([1])]
is_proxy = lambda each: any('JsProxy' in base.__name__ for base in type(each).__mro__)
proxies = [each for each in gc.get_objects() if is_proxy(each)]
todo = proxies + made
names = set()
for _ in range(4):
    further = []
    for each in todo:
        for name in dir(each):
            names.add(name)
            try:
                value = getattr(each, name)
            except Exception:
                continue
            if is_proxy(value):
                further.append(value)
    todo = further[:500]
walked = {'push', 'fromAsync', 'bind', 'byteLength'}
machine = {'process', 'require', 'fetch', 'env', 'binding', 'mainModule'}
found = [len(proxies) > 1, sorted(walked & names), sorted(machine & names)]`;
const NO_CODE = "Code generation from strings disallowed for this context";

/** Takes away what stands in the way of an import. */
const FREED =
  "import sys\nsys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != '_Blocked']\n";

/** Each tries one way out, and gives back what it found, and then what says that it got as far as the wall that it is about. */
const WAYS_OUT: readonly [what: string, source: string, wall: string][] = [
  ["a file", "found = open(data['file']).read()", "FileNotFoundError"],
  [
    "a file by its descriptor",
    "import os\nfound = [os.read(fd, 99) for fd in range(20, 40)]",
    "Bad file descriptor",
  ],
  [
    "a variable",
    "import os\nfound = os.environ.get(data['variable']) or os.popen('env').read()",
    "does not support processes",
  ],
  [
    "a process",
    "import subprocess\nfound = subprocess.run(['cat', data['file']], capture_output=True).stdout",
    "does not support processes",
  ],
  ["a fork", "import os\nos.fork()\nfound = 'forked'", "Function not implemented"],
  [
    "a connection",
    "import socket\nsocket.create_connection(('127.0.0.1', data['port']), 1).send(b'x')\nimport time\ntime.sleep(0.3)",
    "Host is unreachable",
  ],
  [
    "a request",
    "import urllib.request\nfound = urllib.request.urlopen(f\"http://127.0.0.1:{data['port']}/\").read()",
    "Host is unreachable",
  ],
  ["the module of JavaScript", "import js\nfound = js.process.env", "No module named 'js'\n"],
  [
    "code of JavaScript",
    "from pyodide.code import run_js\nfound = run_js('process.env')",
    "No module named 'js'\n",
  ],
  [
    "the module of Pyodide",
    "import pyodide_js\nfound = pyodide_js.constructor.constructor('return process.env')()",
    "No module named 'pyodide_js'\n",
  ],
  [
    "the core of Pyodide",
    `${CORE}found = core.to_js([1]).constructor.constructor('return process.env')()`,
    `EvalError: ${NO_CODE}`,
  ],
  ["objects of JavaScript", WALK, "[True, ['bind', 'byteLength', 'fromAsync', 'push'], []]"],
  ["a command of C", "import ctypes\nfound = ctypes.CDLL(None).system(b'cat /etc/passwd')", "ended with -1"],
  [
    "a command to the process around it",
    "import os\nfd = os.open('/dev/ptc-control', os.O_RDWR)\nfor text in (b'constructor x', b'__proto__ x', b'zone ../../../etc/passwd'):\n    found = os.write(fd, text)",
    "ended with 24",
  ],
];

/** The same, of ways that end the interpreter. */
const LAST_WAYS_OUT: typeof WAYS_OUT = [
  [
    "native code",
    'import ctypes\nfound = ctypes.CDLL(None).emscripten_run_script(b"process.exit(9)")',
    `the interpreter has failed: ${NO_CODE}`,
  ],
  [
    "native code that answers",
    'import ctypes\nf = ctypes.CDLL(None).emscripten_run_script_string\nf.restype = ctypes.c_char_p\nfound = f(b"process.env")',
    `the interpreter has failed: ${NO_CODE}`,
  ],
];

describe("a Python program that tries to get out", () => {
  const secret = "5ec2e7".repeat(5);
  const folder = mkdtempSync(join(tmpdir(), "ptc-bait-"));
  const file = join(folder, "secret");
  writeFileSync(file, secret);
  process.env.PTC_TEST_OF_PYTHON = secret;
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  afterAll(() => {
    server.close();
    delete process.env.PTC_TEST_OF_PYTHON;
    rmSync(folder, { recursive: true, force: true });
  });

  async function tried(source: string): Promise<string> {
    if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const data = { file, port, variable: "PTC_TEST_OF_PYTHON" };
    const { claim, stderr, code } = await run(`${FREED}${source}`, { data });
    const said = JSON.stringify([claim, stderr]);
    expect(said).not.toContain(secret);
    expect(said).not.toMatch(/root:|PATH=/);
    expect([0, 70]).toContain(code);
    expect(connections).toBe(0);
    expect([readFileSync(file, "utf8"), readdirSync(folder)]).toEqual([secret, ["secret"]]);
    return said;
  }

  /** What each way came to. All are tried by one program, because most of the time goes into the start of an interpreter. */
  let attempts: string[];
  beforeAll(async () => {
    const sources = JSON.stringify(WAYS_OUT.map(([, source]) => source));
    const said = await tried(`import json, traceback
result = []
for source in json.loads(${JSON.stringify(sources)}):
    names = {"data": data, "found": None}
    try:
        exec(source, names)
        result.append("ended with " + repr(names["found"]))
    except BaseException:
        result.append(traceback.format_exc())`);
    const [claim] = JSON.parse(said) as [Ran["claim"]];
    expect(claim).toMatchObject({ ok: true });
    attempts = claim?.data as string[];
  });

  test.each(WAYS_OUT.map(([what, , wall], at) => [what, at, wall] as const))(
    "finds nothing of the machine by %s",
    (_what, at, wall) => {
      expect(attempts[at]).toContain(wall);
    },
  );

  test.each(LAST_WAYS_OUT)("finds nothing of the machine by %s", async (_what, source, wall) => {
    expect(await tried(`found = None\n${source}\nresult = repr(found)`)).toContain(wall);
  });
});

test("where Pyodide is not installed, or is another version, one line says what to install", async () => {
  const nowhere = mkdtempSync(join(tmpdir(), "ptc-nowhere-"));
  afterAll(() => rmSync(nowhere, { recursive: true, force: true }));
  const absent = new WasmEngine({ folder: nowhere });
  const request = {
    ...({ image: "", runtime: WASM_IMAGE, runner: "python", owner: "test" } as const),
    limits: { memoryMb: 256, cpus: 1, pids: 64 },
  };
  const started = absent.start(request, { onStdout() {}, onStderr() {} });
  await expect(started).rejects.toThrow(
    `Python with the engine wasm needs the package pyodide; install it beside ptc: npm install pyodide@${PYODIDE_VERSION}`,
  );
  expect(findPyodide(import.meta.dirname)).toMatchObject({ version: PYODIDE_VERSION });
});
