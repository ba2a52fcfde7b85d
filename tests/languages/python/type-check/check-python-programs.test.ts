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
