import { AsyncLocalStorage } from "node:async_hooks";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import { createTypeChecker } from "../../../../languages/typescript/typescript.ts";
import { MAX_ERROR_MESSAGE_CHARS } from "../../../../protocol/limits.ts";
import { isCollected } from "../../../collected.ts";
import { modulesOf } from "../../module-texts.ts";
import { checkedModules, verdict } from "./sample-modules.ts";

const WRONG = "await mcp__github__create_issue({ titel: 1 });";
const BOMB =
  'type B<N extends any[], A> = N["length"] extends 30 ? A : B<[...N, 1], A> | B<[...N, 2], A>;\nconst x: B<[], 1> = 1;';

// As long as a busy machine may need.
const checker = createTypeChecker({ checkLimitMs: 60_000 });
let modules: ModuleSource & { loaded: string[] };
beforeAll(async () => {
  modules = await checkedModules();
});
afterAll(() => checker.close());

describe("what a check reads", () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-check-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("is only the modules that the program imports or names", async () => {
    modules.loaded.length = 0;
    await verdict(checker, modules, 'import * as n from "servers/my_notes";\nawait mcp__github__whoami({});');
    expect(modules.loaded).toEqual(["github", "my_notes"]);
    modules.loaded.length = 0;
    await verdict(checker, modules, "result = 1;");
    expect(modules.loaded).toEqual([]);
  });

  it("is a module's text as it is now", async () => {
    const code = 'import { ping } from "servers/pong";\nawait ping({ a: 1 });';
    const load = (input: string): ModuleSource =>
      modulesOf({
        pong: `import { tool } from "../../runtime.js";\nexport interface PingInput { ${input}: number }\nexport const ping = tool<PingInput, any>("mcp__pong__ping");\n`,
      });
    expect(await verdict(checker, load("b"), code)).toContain("'a' is not a property of ping's argument");
    expect(await verdict(checker, load("a"), code)).toBe("clean");
  });

  it.each([
    (path: string) => `/// <reference path="${path}.ts" />`,
    (path: string) => `/// <reference types="${path}" />`,
    (path: string) => `import { token } from "${path}.ts";`,
    (path: string) => `import { token } from "${path}.js";`,
    (path: string) => `import { token } from "${path}";`,
    (path: string) => `import token from "${path}.json" with { type: "json" };`,
    (path: string) => `const { token } = await import("../..${path}");`,
    (path: string) => `const token: import("${path}").token = 1 as any;`,
    (path: string) =>
      `/** @import { token } from "${path}" */\n/** @type {import("${path}").token} */ var token = 1 as any;`,
    (path: string) => `import token = require("${path}");`,
    (path: string) => `export * from "${path}";\ndeclare module "${path}" { export const token: "x" }`,
  ])("is nothing of the host's, whatever the program refers to: %s", async (refer) => {
    for (const extension of ["ts", "d.ts", "json", "js"]) {
      const text = extension === "json" ? '{"token": "hunter2"}' : 'export declare const token: "hunter2";';
      writeFileSync(join(folder, `secret.${extension}`), text);
    }
    const code = `${refer(join(folder, "secret"))}\nawait mcp__github__create_issue({ title: 5 as any as typeof token, titel: 1 });`;
    const message = await verdict(checker, modules, code);
    expect(message).toMatch(/'titel' is not a property/);
    expect(message).not.toContain("hunter2");
    expect(message.replaceAll(code.split("\n")[0] ?? "", "")).not.toContain(folder);
  });

  it("is not even opened: a pipe of the host's keeps nobody waiting", async () => {
    for (const name of ["pipe.ts", "pipe.d.ts", "lib.pipe.d.ts", "package.json", "tsconfig.json"])
      execFileSync("mkfifo", [join(folder, name)]);
    const at = join(folder, "pipe");
    const code = `/// <reference path="${at}.ts" />\n/// <reference path="${join(folder, "lib.pipe.d.ts")}" />\nimport x from "${at}"; import y from "${folder}";\nresult = 1;`;
    expect(await verdict(checker, modules, code)).toBe("clean");
  });
});

describe("a check's message", () => {
  it("is bounded, whatever is wrong", async () => {
    const long = "x".repeat(50_000);
    const line = `await mcp__github__create_issue({ ${long}: "${long}" }); `;
    const message = await verdict(checker, modules, line + WRONG.repeat(500));
    expect(message.length).toBeLessThanOrEqual(MAX_ERROR_MESSAGE_CHARS);
    expect(message).toMatch(/^program\.ts:1:35: /);
    expect(message).toMatch(/and \d+ more/);
  });

  it("leaves what is no valid syntax to the bundler", async () => {
    expect(await verdict(checker, modules, `const = 1;\n${WRONG}`)).toBe("clean");
  });
});

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

describe("the checker's process", () => {
  const ours: ReturnType<typeof createTypeChecker>[] = [];
  const create = (limitMs?: number) => {
    const created = createTypeChecker({
      ...(limitMs === undefined ? {} : { checkLimitMs: limitMs }),
    });
    ours.push(created);
    return created;
  };
  const children = () => {
    try {
      return execFileSync("pgrep", ["-P", String(process.pid), "-f", "--", "--api --async --cwd /ptc"])
        .toString()
        .trim()
        .split("\n")
        .map(Number);
    } catch {
      return [];
    }
  };
  afterEach(async () => {
    await Promise.all(ours.splice(0).map((each) => each.close()));
  });

  it("answers checks that are asked for at once, each for its own program", async () => {
    const many = Array.from({ length: 12 }, (_, i) =>
      verdict(
        checker,
        modules,
        i % 2 === 0 ? `result = ${i};` : `await mcp__github__create_issue({ t${i}: 1 });`,
      ),
    );
    const answers = await Promise.all(many);
    answers.forEach((answer, i) => {
      if (i % 2 === 0) expect(answer).toBe("clean");
      else expect(answer).toContain(`'t${i}' is not`);
    });
  });

  it("is killed when a check does not end, which is nothing against the program, and works again after that", async () => {
    const limited = create(1_500);
    await limited.warm();
    const before = children();
    expect(await verdict(limited, modules, BOMB)).toBe("unchecked: type checking took longer than 1500 ms");
    expect(await verdict(limited, modules, WRONG)).toContain("'titel' is not a property");
    expect(children()).not.toEqual(before);
    expect(children()).toHaveLength(before.length);
    // A caller that waits less is not kept waiting by the check of another.
    const program = { code: BOMB, data: {}, language: "typescript", fileName: "program.ts" };
    const reason = "type checking took longer than 50 ms";
    const unchecked = { kind: "unchecked", reason };
    const both = [limited.check(program, modules), limited.check(program, modules, [], 50)];
    expect(await both[1]).toEqual(unchecked);
    expect(await both[0]).toMatchObject({ kind: "unchecked" });
  });

  it("is started again when it has died, also in the middle of a check", async () => {
    const mortal = create();
    const others = children();
    await mortal.warm();
    const kill = () => {
      for (const pid of children()) if (!others.includes(pid)) process.kill(pid, "SIGKILL");
    };
    const checked = verdict(mortal, modules, BOMB);
    setTimeout(kill, 200);
    expect(await checked).toMatch(/^unchecked/);
    expect(await verdict(mortal, modules, WRONG)).toContain("'titel' is not a property");
    // Nobody has noticed yet: what is asked now goes to a process that is gone.
    kill();
    expect(await verdict(mortal, modules, WRONG)).toMatch(/^unchecked|'titel' is not a property/);
    expect(await verdict(mortal, modules, WRONG)).toContain("'titel' is not a property");
  });

  it("is gone once the checker is closed, also in the middle of a check, and is not started again", async () => {
    const others = children();
    const closed = create();
    await closed.warm();
    const checked = verdict(closed, modules, BOMB);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await closed.close();
    expect(await checked).toMatch(/^unchecked/);
    expect(children()).toEqual(others);
    expect(await verdict(closed, modules, WRONG)).toBe("unchecked: the type checker is closed");
    expect(children()).toEqual(others);
  });

  it("does not outlive ptc, also when that ends while the process waits for a file", async () => {
    const url = pathToFileURL(
      join(import.meta.dirname, "../../../../languages/typescript/typescript-api.ts"),
    );
    const script = `
      import { execFileSync } from "node:child_process";
      const { TypeScriptProcess } = await import(${JSON.stringify(url.href)});
      const started = new TypeScriptProcess("/ptc", "/ptc/tsconfig.json", { read: () => process.exit(0) }, {});
      await started.start();
      console.log(execFileSync("pgrep", ["-P", String(process.pid), "-f", "--", "--api --async"]).toString());
      await started.open();`;
    const node = ["--input-type=module", "-e", script];
    const pid = Number(
      execFileSync(process.execPath, node, { stdio: ["ignore", "pipe", "ignore"] }).toString(),
    );
    expect(pid).toBeGreaterThan(0);
    // Of a process that is gone but not yet collected there is no command line.
    await expect.poll(() => commandLine(pid)).toBe("");
  });

  it("holds nothing of a run whose program it has checked", async () => {
    const context = new AsyncLocalStorage<object>();
    // It is started in no run.
    await checker.warm();
    const checkInRun = async () => {
      const run = {};
      await context.run(run, () => verdict(checker, modules, WRONG));
      return new WeakRef(run);
    };
    expect(await isCollected(await checkInRun())).toBe(true);
  });

  it("is spared programs that are too long to be checked", async () => {
    const long = `${WRONG}\n//${"x".repeat(300_000)}`;
    expect(await verdict(checker, modules, long)).toBe(
      "unchecked: the program is longer than 262144 characters",
    );
  });

  it("knows the names of earlier programs of a session with their types, and lets any of them be declared anew", async () => {
    const earlier = [
      'import * as github from "./servers/github/index.js";\ninterface Wanted { title: string }\nlet wanted: Wanted = { title: "a" };',
      "const make = () => wanted;\nlet wanted2 = make();",
    ].map((code) => ({ code, data: {}, language: "typescript", fileName: "program.ts" }));
    const check = async (code: string) => {
      const program = { code, data: {}, language: "typescript", fileName: "program.ts" };
      const outcome = await checker.check(program, modules, earlier);
      return outcome.kind === "errors" ? outcome.message : outcome.kind;
    };
    const call = (title: string) => `await mcp__github__create_issue({ title: ${title} });`;
    expect(await check(call("make().title"))).toBe("clean");
    expect(
      await check(
        `wanted = { title: "b" };\nconst w: Wanted = wanted2;\nconst make = 1;\n${call("w.title")}`,
      ),
    ).toBe("clean");
    expect(await check(`${call("5 as any")}\nawait github.createIssue({ title: "a", titel: "b" });`)).toMatch(
      /^program\.ts:2:\d+: 'titel' is not a property/,
    );
    expect(await check(call("nobody"))).toMatch(/^program\.ts:1:\d+: 'nobody' is not defined/);
  });
});
