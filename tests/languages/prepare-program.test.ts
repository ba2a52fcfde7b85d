import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TypecheckMode } from "../../languages/language.ts";
import type { ModuleSource } from "../../languages/module-source.ts";
import { type Prepared, prepareProgram } from "../../languages/prepare-program.ts";
import { PYTHON } from "../../languages/python/language.ts";
import { withoutFences } from "../../languages/resolve-program.ts";
import { TYPESCRIPT } from "../../languages/typescript/language.ts";
import { openTypeScript } from "../../languages/typescript/typescript.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { checkedModules } from "./typescript/type-check/sample-modules.ts";

const typescript = { ...TYPESCRIPT, ...openTypeScript() };
const redactor = new Redactor([]);
let modules: ModuleSource;
beforeAll(async () => {
  modules = await checkedModules();
});
afterAll(() => typescript.close());

const prepare = (code: string, mode: TypecheckMode = "error"): Promise<Prepared> =>
  prepareProgram(
    { code, data: {}, language: "typescript", fileName: "program.ts" },
    { languages: [typescript], modules, redactor },
    { mode },
  );

async function failureOf(code: string, mode?: TypecheckMode): Promise<[string, string[]]> {
  const prepared = await prepare(code, mode);
  if (prepared.ok) throw new Error("it is prepared");
  const told = prepared.error.message.split("\n").filter((line) => /^(?:program\.ts:|expected)/.test(line));
  return [prepared.error.type, told];
}

const MISSING = 'import { create_issue } from "./servers/github/index.js";\nawait create_issue({});';
const NO_FUNCTION =
  "program.ts:1:10: servers/github has no function 'create_issue'; did you mean 'createIssue'?";
const MISSPELT = 'await mcp__github__create_issue({ titel: "x" });';

describe("a program with several mistakes", () => {
  it.each(["error", "warn"] as const)(
    "gets all of them once, whichever check found them (%s)",
    async (mode) => {
      expect(await failureOf(`${MISSING}\n${MISSPELT}`, mode)).toEqual([
        "BundleError",
        [
          NO_FUNCTION,
          "program.ts:3:35: 'titel' is not a property of createIssue's argument; did you mean 'title'?",
          "expected: createIssue({ title: string }): Promise<any>",
        ],
      ]);
    },
  );

  it("is told what it cannot import, and its other mistakes", async () => {
    const [type, told] = await failureOf(`import "lodash";\n${MISSPELT}`);
    expect(type).toBe("BundleError");
    expect(told[0]).toContain("program.ts:1:8: 'lodash' cannot be imported");
    expect(told[1]).toContain("program.ts:2:35: 'titel' is not a property");
  });

  it("is told of an export that there is not, and of an import beside it", async () => {
    const [type, told] = await failureOf(`import "lodash";\n${MISSING}\n${MISSPELT}`);
    expect(type).toBe("BundleError");
    expect(told.join("\n")).toContain("program.ts:1:8: 'lodash' cannot be imported");
    expect(told.join("\n")).toContain("'titel' is not a property");
  });

  it("is told only of its syntax when that is wrong", async () => {
    expect(await failureOf(`const = 1;\n${MISSPELT}`)).toEqual([
      "BundleError",
      ['program.ts:1:7: Expected identifier but found "="'],
    ]);
  });

  it("learns of missing functions when types are not checked, too", async () => {
    expect(await failureOf(`${MISSING}\n${MISSPELT}`, "off")).toEqual(["BundleError", [NO_FUNCTION]]);
  });
});

it("a program whose types could not be checked is prepared, and says why", async () => {
  const hasty = {
    ...typescript,
    prepare: async () => ({ ok: true, bundle: "1", unchecked: "too late" }) as const,
  };
  const program = { code: "1", data: {}, language: "typescript", fileName: "program.ts" };
  const prepared = await prepareProgram(
    program,
    { languages: [hasty], modules, redactor },
    { mode: "error" },
  );
  expect(prepared).toMatchObject({ ok: true, bundle: "1", unchecked: "too late", hints: [] });
});

describe("why a program cannot be run", () => {
  it("is known as data, without the secrets that its text holds", async () => {
    const code = 'import "./servers/mail/index.js";\nimport "./s3cr3t-word-of-mine";';
    const prepared = await prepareProgram(
      { code, data: {}, language: "typescript", fileName: "program.ts" },
      { languages: [typescript], modules, redactor: new Redactor(["s3cr3t-word-of-mine"]) },
      { mode: "off" },
    );
    expect(prepared).toMatchObject({
      ok: false,
      reasons: [
        { code: "unknown_server", module: "mail" },
        { code: "unknown_import", path: expect.any(String) },
      ],
    });
    expect(JSON.stringify(prepared)).not.toContain("s3cr3t");
  });

  it("is for the message to say where only its types are wrong", async () => {
    expect(await prepare(MISSPELT)).toMatchObject({
      ok: false,
      error: { type: "TypeCheckError" },
      reasons: [],
    });
  });
});

describe("a tool that is not available", () => {
  const code = 'import { dropRepo } from "./servers/github/index.js";\nawait dropRepo({});';

  it("is reported before anything runs", async () => {
    const expected =
      "program.ts:1:10: 'mcp__github__drop_repo' is not available in execute_program: the configuration does not allow it";
    expect(await failureOf(code)).toEqual(["TypeCheckError", [expected]]);
  });

  it("is left to the broker when types are not checked", async () => {
    const bundle = expect.stringContaining('"mcp__github__drop_repo"');
    expect(await prepare(code, "off")).toMatchObject({ ok: true, bundle, runner: "javascript" });
  });
});

describe("a program in code fences", () => {
  it.each([
    ["```ts\n", "\n```"],
    ["```\n", "\n```\n\n"],
    ["\n  ```typescript \r\n", "\r\n  ```"],
    ["```js\n", "\n```"],
  ])("is taken without them: %j ... %j", async (before, after) => {
    const prepared = await prepare(`${before}globalThis.result = "a";${after}`);
    expect(prepared).toMatchObject({ ok: true, bundle: expect.stringContaining('globalThis.result = "a"') });
    expect(prepared.ok && prepared.bundle).not.toMatch(/`|ts;/);
  });

  it("has its lines and columns where they were", async () => {
    const [, told] = await failureOf(`\`\`\`ts\nconst a = 1;\n  ${MISSPELT}\n\`\`\``);
    expect(told[0]).toMatch(/^program\.ts:3:37: 'titel'/);
    expect(await failureOf("\n```\nconst a = 1;\n const b = ;\n```")).toEqual([
      "BundleError",
      ['program.ts:4:12: Unexpected ";"'],
    ]);
  });

  it("is not what only begins or ends like one", () => {
    for (const code of ["```ts\nresult = 1;", "const a = `x\n```;\n```", "f(`\n```\nx\n```\n`)", "``````"])
      expect(withoutFences(code)).toBe(code);
  });
});

describe("a program that looks like one in another language", () => {
  const PYTHON_CODE = "import os\nprint(1)\n";
  const advice = async (languages: (typeof typescript | typeof python)[], code = PYTHON_CODE) => {
    const program = { code, data: {}, language: "typescript", fileName: "program.ts" };
    const prepared = await prepareProgram(program, { languages, modules, redactor }, { mode: "error" });
    if (prepared.ok) throw new Error("it is prepared");
    return prepared.error.message.split("\n").filter((line) => line.startsWith("this looks like"));
  };
  const python = { ...typescript, ...PYTHON };

  it("is told how to say so where that language is on", async () => {
    expect(await advice([typescript, python])).toEqual([
      "this looks like Python: say so with the argument `language`, the file's suffix or --language",
    ]);
  });

  it("is told what programs may be where it is off, and nothing where it looks like its own", async () => {
    expect(await advice([typescript])).toEqual([
      "this looks like Python: programs are TypeScript or JavaScript",
    ]);
    const another = { ...typescript, names: ["another"], offers: "another" };
    expect(await advice([typescript, another])).toEqual([
      "this looks like Python: programs are TypeScript or JavaScript or another",
    ]);
    expect(await advice([typescript, python], "const a = ;")).toEqual([]);
  });
});
