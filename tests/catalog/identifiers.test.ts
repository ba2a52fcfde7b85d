import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assignIdentifiers, isIdentifierOf } from "../../catalog/identifiers.ts";
import { generateModule } from "../codegen/list-tools.ts";
import { parseModule } from "../codegen/parse-module.ts";

const AWKWARD = [
  "",
  " ",
  "__proto__",
  "constructor",
  "prototype",
  "then",
  "default",
  "delete",
  "class",
  "await",
  "tool",
  "data",
  "result",
  "parallel",
  "callTool",
  "ToolError",
  "get_document",
  "get-document",
  "get.document",
  "getDocument",
  "GetDocument",
  "GET_DOCUMENT",
  "getdocument",
  "2fa",
  "3d_input",
  "3d",
  "t3d",
  "fs",
  "node:fs",
  "a".repeat(128),
  "查询",
  "查詢",
  "café",
  "cafe\u0301",
  "💥",
  "a b",
  "x\u0000y",
  "get_document_75541f97",
  "getDocument_75541f97",
];

const toolName = fc.oneof(
  fc.constantFrom(...AWKWARD),
  fc.string({ maxLength: 128, unit: "binary" }),
  fc.string({ maxLength: 20, unit: fc.constantFrom("a", "B", "_", "-", ".", "1", "é") }),
);
const toolNames = fc.uniqueArray(toolName, { maxLength: 40 });
const VALID = /^[a-z_][A-Za-z0-9_]*$/;

/** The global names of a Node.js in which nothing has run: tests in this process may have left some of their own. */
const GLOBALS = new Set<string>(
  JSON.parse(
    execFileSync(process.execPath, ["-"], {
      encoding: "utf8",
      input:
        "console.log(JSON.stringify([globalThis, Object.prototype].flatMap(Object.getOwnPropertyNames)))",
    }),
  ),
);

describe("identifiers", () => {
  test.each([
    ["get_document", "getDocument"],
    ["get-document.by_id", "getDocumentById"],
    ["getDocument", "getDocument"],
    ["LIST_ALL", "listAll"],
    ["API-get-user", "apiGetUser"],
    ["HTTPServer", "httpServer"],
    ["delete", "delete_"],
    ["constructor", "constructor_"],
    ["then", "then_"],
    ["__proto__", "proto"],
    ["2fa_enable", "_2faEnable"],
    ["café", "cafe"],
  ])("%s alone is called %s", (name, identifier) => {
    expect(assignIdentifiers([name]).get(name)).toBe(identifier);
  });

  test("of names that read alike, only the one that is the identifier goes without a hash", () => {
    const assigned = assignIdentifiers(["get_document", "get-document", "getDocument"]);
    expect(assigned.get("getDocument")).toBe("getDocument");
    expect(assigned.get("get_document")).toMatch(/^getDocument_[0-9a-f]{8}$/);
    expect(assigned.get("get-document")).toMatch(/^getDocument_[0-9a-f]{8}$/);
  });

  test("any names get valid, distinct identifiers, whatever their order", () => {
    fc.assert(
      fc.property(toolNames, (names) => {
        const assigned = assignIdentifiers(names);
        const identifiers = [...assigned.values()];
        expect([...assigned.keys()].sort()).toEqual([...names].sort());
        expect(new Set(identifiers).size).toBe(names.length);
        for (const identifier of identifiers) {
          expect(identifier).toMatch(VALID);
          expect(() => new Function(`"use strict"; const ${identifier} = 1;`)).not.toThrow();
          expect(GLOBALS.has(identifier)).toBe(false);
        }
        expect(new Map(assignIdentifiers(names.toReversed()))).toEqual(assigned);
      }),
    );
  });

  test("an identifier once assigned stays when other tools come and go", () => {
    fc.assert(
      fc.property(toolNames, toolNames, (before, after) => {
        const previous = assignIdentifiers(before);
        const assigned = assignIdentifiers(after, previous);
        expect(new Set(assigned.values()).size).toBe(assigned.size);
        for (const name of after) {
          if (previous.has(name)) expect(assigned.get(name)).toBe(previous.get(name));
        }
      }),
    );
  });

  test("an identifier in a lock that is not usable, used twice or made of another name is not honoured", () => {
    const previous = new Map([
      ["delete", "delete"],
      ["b", "x; alert(1)"],
      ["c_same", "csame"],
      ["c.same", "csame"],
      ["read_all", "deleteAll"],
      ["delete_all", "readAll"],
    ]);
    const assigned = assignIdentifiers([...previous.keys()], previous);
    expect(Object.fromEntries(assigned)).toEqual({
      delete: "delete_",
      b: "b",
      "c.same": "csame",
      c_same: "cSame",
      read_all: "readAll",
      delete_all: "deleteAll",
    });
  });

  test("any identifier that a name is given is known to be made of it", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: "binary", maxLength: 90 }), { maxLength: 8 }), (names) => {
        for (const [name, identifier] of assignIdentifiers(names))
          expect(isIdentifierOf(identifier, name)).toBe(true);
      }),
    );
  });

  test("modules with any tool names export each name once and call each tool by its exact name", async () => {
    await fc.assert(
      fc.asyncProperty(toolNames, async (names) => {
        const tools = names.map((name) => ({ name, inputSchema: { type: "object" }, outputSchema: {} }));
        const statements = parseModule((await generateModule(tools)).text);
        const exported = statements.flatMap((statement) => ("name" in statement ? [statement.name] : []));
        const called = statements.flatMap((statement) =>
          statement.kind === "tool" ? [statement.calls] : [],
        );
        expect(new Set(exported).size).toBe(exported.length);
        expect(called.sort()).toEqual(names.map((name) => `mcp__demo__${name}`).sort());
      }),
      { numRuns: 30 },
    );
  });
});
