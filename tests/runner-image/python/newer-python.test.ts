import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { missingFor, runInProcess } from "../runner-process.ts";

const missing = missingFor("python");
const isOld = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info >= (3, 12))"]).status === 0;

/** A program for a newer Python, and what the reply names and advises. */
const PROGRAMS: [code: string, what: string, advice: string][] = [
  ["type Id = int", "the `type` statement came with Python 3.12", "TypeAlias"],
  ["type Ids[T] = list[T]", "the `type` statement came with Python 3.12", "TypeAlias"],
  [
    "def first[T](xs: list[T]) -> T:\n    return xs[0]",
    "the type parameters in [...] came with Python 3.12",
    "TypeVar",
  ],
  ["class Box[T]:\n    pass", "the type parameters in [...] came with Python 3.12", "Generic[T]"],
  ["async def go[T](x: T):\n    pass", "the type parameters in [...] came with Python 3.12", "TypeVar"],
  [
    "d = {'a': 1}\nprint(f'{d['a']}')",
    "the quotes of the f-string itself inside the braces",
    "the other quotes",
  ],
  ['print(f"{", ".join(["a"])}")', "the quotes of the f-string itself inside the braces", "the other quotes"],
  ["print(f'{chr(10).join([\"\\n\"])}')", "a backslash inside the braces of an f-string", "a variable"],
  ["print(f'{1\n}')", "a line break inside the braces of an f-string", "a variable"],
  ["print(t'{1}')", "the template string t'...' came with Python 3.14", "an f-string"],
  ["from itertools import batched", "itertools.batched came with Python 3.12", "range(0, len(x), n)"],
  ["import math\nmath.sumprod([1], [2])", "math.sumprod came with Python 3.12", "sum("],
  ["from pathlib import Path\nPath('.').walk()", "Path.walk came with Python 3.12", "os.walk"],
  ["from typing import override", "typing.override came with Python 3.12", "leave it out"],
  ["import annotationlib", "annotationlib came with Python 3.14", "typing.get_type_hints"],
];

describe.skipIf(missing !== "" || !isOld)(`a program for a newer Python${missing}`, () => {
  it.each(PROGRAMS)(
    "is told which version runs, what is newer, and what to write instead: %s",
    async (code, what, advice) => {
      const { claim } = await runInProcess("python", code);
      expect(claim).toMatchObject({ ok: false, error: { type: "ScriptError" } });
      const [line = ""] = (claim?.ok === false ? claim.error.message : "").split("\n").slice(-1);
      expect(line).toMatch(/^programs run on Python 3\.11\.\d+, and /);
      expect(line).toContain(what);
      expect(line).toContain(advice);
    },
  );

  it.each([
    "if x\n    pass",
    "print(f'{1}' 2)",
    "print(f'{1!x}')",
    "import nothing",
    "type = 1\ntype x",
    "x = {}['a']",
    "raise AttributeError('batched')",
  ])("is not what has another mistake: %s", async (code) => {
    const { claim } = await runInProcess("python", code);
    expect(claim?.ok === false && claim.error.message).not.toContain("programs run on");
  });
});

describe.skipIf(missing !== "")(`child processes of a Python program${missing}`, () => {
  it.each([
    [
      "a pool",
      'import multiprocessing\ndef double(x):\n    return x * 2\nwith multiprocessing.get_context("spawn").Pool(1) as pool:\n    result = pool.map(double, [1, 2])',
    ],
    [
      "an executor",
      'import multiprocessing\nfrom concurrent.futures import ProcessPoolExecutor\ndef double(x):\n    return x * 2\nwith ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:\n    result = list(pool.map(double, [1, 2]))',
    ],
    [
      "a process and a queue",
      'import multiprocessing\nmultiprocessing.set_start_method("forkserver", force=True)\ndef double(queue):\n    queue.put([2, 4])\nqueue = multiprocessing.Queue()\nprocess = multiprocessing.Process(target=double, args=(queue,))\nprocess.start()\nresult = queue.get()\nprocess.join()',
    ],
  ])("work with any start method: %s", async (_what, code) => {
    expect((await runInProcess("python", code)).claim).toMatchObject({ ok: true, data: [2, 4] });
  });
});
