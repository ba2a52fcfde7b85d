import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import { createPythonTypeChecker } from "../../../../languages/python/type-check/type-check-python.ts";
import { readPrograms } from "../../read-programs.ts";
import { sampleStubs, verdictOf } from "./sample-stubs.ts";

const corpus = (name: string) => readPrograms(join(import.meta.dirname, "programs", name));

const checker = createPythonTypeChecker({ limitMs: 60_000 });
let modules: ModuleSource;
beforeAll(async () => {
  modules = await sampleStubs();
});
afterAll(() => checker.close());

describe("the type check of programs in Python", () => {
  it("stops none of many programs that run", async () => {
    const correct = corpus("correct.txt");
    expect(correct.length).toBeGreaterThanOrEqual(116);
    const stopped: string[] = [];
    for (const { code } of correct) {
      const verdict = await verdictOf(checker, modules, code);
      if (verdict !== "clean") stopped.push(`${code}\n${verdict}`);
    }
    expect(stopped).toEqual([]);
  });

  it("finds nearly every mistake, and says where it is and what was meant", async () => {
    const mistaken = corpus("mistaken.txt");
    expect(mistaken.length).toBeGreaterThanOrEqual(117);
    const missed: string[] = [];
    for (const { code, expected } of mistaken) {
      const [, place = "?", said = ""] = /^(\d+(?::\d+)?): ?(.*)$/.exec(expected.join()) ?? [];
      const verdict = await verdictOf(checker, modules, code);
      if (!verdict.startsWith(`program.py:${place}:`) || !new RegExp(said).test(verdict))
        missed.push(`${code}\n-> ${verdict}`);
    }
    expect(missed).toEqual([]);
  });

  it("shows the signature of the tool", async () => {
    const code = 'from servers.mail import send\nsend(to=["b"])';
    expect(await verdictOf(checker, modules, code)).toContain(
      "expected: send(*, from_: str, to: list[str], reply_to?: str, priority?: int) -> Any",
    );
  });

  it("knows the names of earlier programs of a session, and tells places in its own lines", async () => {
    const earlier = ["from servers.mail import send\nwho = 'a'", "def f():\n    return who\n"].map(
      (code) => ({
        code,
        data: {},
        language: "python",
        fileName: "program.py",
      }),
    );
    const check = async (code: string) => {
      const program = { code, data: {}, language: "python", fileName: "program.py" };
      const outcome = await checker.check(program, modules, "sync", earlier);
      return outcome.kind === "errors" ? outcome.message : outcome.kind;
    };
    expect(await check("x = f()\nprint(who, x)")).toBe("clean");
    expect(await check("print(who)\nsend()")).toMatch(/^program\.py:2:1: /);
    expect(await check("print(nobody)")).toMatch(/^program\.py:1:7: 'nobody' is not defined/);
  });

  it("tells nothing of mistakes in earlier programs of a session, which ran all the same", async () => {
    const earlier = [
      { code: "from servers.mail import send\nsend()", data: {}, language: "python", fileName: "program.py" },
    ];
    const program = { code: "print(1)", data: {}, language: "python", fileName: "program.py" };
    expect(await checker.check(program, modules, "sync", earlier)).toMatchObject({
      kind: "clean",
      hints: [],
    });
  });

  it.each<[value: string, said: string | undefined]>([
    ["1.5", undefined],
    ["float('1')", undefined],
    ["1 if data else 'x'", undefined],
    ["'x' if data else 1", undefined],
    ["None if data else 1", undefined],
    ["'x'", "'priority' of send must be int, not Literal['x']"],
    ["True if data else 'x'", undefined],
    ["'x, 1' if data else 'y'", "'priority' of send must be int, not Literal['x, 1', 'y']"],
    ["'x' if data else 'y'", "'priority' of send must be int, not Literal['x', 'y']"],
    ["str(1)", "'priority' of send must be int, not str"],
    ["[1]", "'priority' of send must be int, not list"],
    ["{'a': 1}", "'priority' of send must be int, not dict"],
    ["(1, 2)", "'priority' of send must be int, not tuple"],
    ["{1, 2}", "'priority' of send must be int, not set"],
    ["object()", undefined],
  ])("refuses for a number what surely is none: %s", async (value, said) => {
    const code = `from servers.mail import send\nsend(from_="a", to=["b"], priority=${value})`;
    const verdict = await verdictOf(checker, modules, code);
    if (said === undefined) expect(verdict).toBe("clean");
    else expect(verdict).toContain(`program.py:2:36: ${said}`);
  });

  it.each<[value: string, isRefused: boolean]>([
    ["'closed' if data else 'odd'", false],
    ["'odd' if data else 'closed'", false],
    ["'odd' if data else 'other'", true],
    ["'odd' if data else 1", true],
    ["str('odd')", false],
    ["1", true],
  ])("refuses for a choice what is surely none of them: %s", async (value, isRefused) => {
    const code = `from servers.github import list_issues\nlist_issues(owner="a", repo="b", state=${value})`;
    const verdict = await verdictOf(checker, modules, code);
    if (isRefused) expect(verdict).toContain("program.py:2:40: 'state' of list_issues must be");
    else expect(verdict).toBe("clean");
  });

  it("checks no program of more than 256 KiB, with those before it", async () => {
    const hasty = createPythonTypeChecker({ limitMs: 1 });
    onTestFinished(() => hasty.close());
    const program = (chars: number) => {
      return { code: "#".repeat(chars), data: {}, language: "python", fileName: "program.py" };
    };
    const reason = async (chars: number, earlier = 0) => {
      const before = earlier === 0 ? [] : [program(earlier)];
      const outcome = await hasty.check(program(chars), modules, "sync", before);
      return outcome.kind === "unchecked" ? outcome.reason : outcome.kind;
    };
    const tooLong = "the program is longer than 262144 characters";
    expect(await reason(262_145)).toBe(tooLong);
    expect(await reason(131_072, 131_073)).toBe(tooLong);
    expect(await reason(262_144)).toBe("type checking took longer than 1 ms");
  });

  it("lets a program run unchecked that would wait too long", async () => {
    const hasty = createPythonTypeChecker({ limitMs: 1 });
    onTestFinished(() => hasty.close());
    const code = "from servers.mail import send\nsend()";
    const program = { code, data: {}, language: "python", fileName: "p.py" };
    // A call with more patience has its program checked, also where the checker has yet to start.
    const patient = hasty.check(program, modules, "sync", [], 120_000);
    expect(await verdictOf(hasty, modules, code)).toBe("unchecked: type checking took longer than 1 ms");
    expect(await patient).toMatchObject({ kind: "errors" });
  });

  it("starts another process after one died, and keeps files only where it may, while one runs", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ptc-checker-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const pids: number[] = [];
    const dying = createPythonTypeChecker({
      limitMs: 60_000,
      folder,
      onSpawn: (pid) => pids.push(pid),
    });
    const code = "from servers.mail import send\nsend()";
    expect(await verdictOf(dying, modules, code)).toContain("missing");
    process.kill(pids[0] ?? 0, "SIGKILL");
    await verdictOf(dying, modules, code);
    expect(await verdictOf(dying, modules, code)).toContain("missing");
    expect(pids).toHaveLength(2);
    expect(readdirSync(folder)).toHaveLength(1);
    await dying.close();
    expect(readdirSync(folder)).toEqual([]);
  });
});
